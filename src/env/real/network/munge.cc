#include "env/real/network/munge.h"

#include <fmt/format.h>

#ifdef TUTTI_MUNGE

#include <munge.h>

#include <cstdlib>
#include <memory>

namespace tutti {
namespace {

using Context = std::unique_ptr<munge_ctx, decltype(&::munge_ctx_destroy)>;

Result<Context> make_context(const std::string& socket) {
  Context context(::munge_ctx_create(), &::munge_ctx_destroy);
  if (!context) return Status(Code::internal, "no memory for a MUNGE context");
  if (!socket.empty() && ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str()) != EMUNGE_SUCCESS) {
    return Status(Code::invalid, "MUNGE does not take the socket " + socket);
  }
  return context;
}

Status failure(const char* what, munge_err_t error, const Context& context) {
  const char* detail = ::munge_ctx_strerror(context.get());
  const bool unreachable = error == EMUNGE_SOCKET || error == EMUNGE_TIMEOUT;
  return {unreachable ? Code::unavailable : Code::permission,
          fmt::format("{}: {}{}", what, detail != nullptr ? detail : ::munge_strerror(error),
                      unreachable ? "; is munged running on this host?" : "")};
}

}  // namespace

Status munge_available() { return {}; }

Result<std::string> munge_credential(const std::string& socket, std::span<const std::byte> payload,
                                     std::optional<std::uint32_t> reader) {
  const auto context = make_context(socket);
  if (!context.ok()) return context.status();
  if (reader && ::munge_ctx_set(context->get(), MUNGE_OPT_UID_RESTRICTION, static_cast<uid_t>(*reader)) !=
                    EMUNGE_SUCCESS) {
    return Status(Code::internal, "MUNGE does not take a restriction to one user");
  }
  char* text = nullptr;
  const munge_err_t error =
      ::munge_encode(&text, context->get(), payload.data(), static_cast<int>(payload.size()));
  const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
  if (error != EMUNGE_SUCCESS) return failure("make a MUNGE credential", error, *context);
  return std::string(text);
}

Result<MungeIdentity> munge_decode_credential(const std::string& socket, const std::string& credential) {
  // Spares munged what no munged can have made.
  if (!credential.starts_with("MUNGE:")) return Status(Code::permission, "this is not a MUNGE credential");
  const auto context = make_context(socket);
  if (!context.ok()) return context.status();
  void* payload = nullptr;
  int length = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const munge_err_t error = ::munge_decode(credential.c_str(), context->get(), &payload, &length, &uid, &gid);
  const std::unique_ptr<void, decltype(&std::free)> owned(payload, &std::free);
  if (error != EMUNGE_SUCCESS) return failure("check a MUNGE credential", error, *context);
  const auto* bytes = static_cast<const std::byte*>(payload);
  return MungeIdentity{uid, gid, std::vector<std::byte>(bytes, bytes + length)};
}

}  // namespace tutti

#else

namespace tutti {

Status munge_available() {
  return {Code::unsupported,
          "this build has no MUNGE: build it where libmunge-dev is installed, or use auth = key"};
}
Result<std::string> munge_credential(const std::string&, std::span<const std::byte>,
                                     std::optional<std::uint32_t>) {
  return munge_available();
}
Result<MungeIdentity> munge_decode_credential(const std::string&, const std::string&) {
  return munge_available();
}

}  // namespace tutti

#endif
