// Opening a file that another process has opened: OpenFile::share() and FileSystem::adopt().
//
// What is shared has the form of the metadata server's reply to open.
#include <fmt/format.h>

#include "client/file_system_impl.h"
#include "client/transfer/open_file.h"

namespace tutti {
namespace {

std::uint32_t flags_of(std::uint32_t rights) {
  return ((rights & wire::kRightRead) != 0 ? wire::kOpenRead : 0U) |
         ((rights & wire::kRightWrite) != 0 ? wire::kOpenWrite : 0U);
}

}  // namespace

Result<std::unique_ptr<OpenFile>> FileSystem::Impl::make_file(std::string path, const wire::NodeReply& node,
                                                              std::uint32_t flags, std::uint64_t handle) {
  if (node.attributes() == nullptr || node.capability() == nullptr) {
    return Status(Code::malformed, fmt::format("open {}: the reply lacks attributes or capability", path));
  }
  Attributes attributes = to_attributes(*node.attributes());
  TUTTI_TRY(attributes.layout.validate().with_context("open " + path));
  TUTTI_TRY(check_servers(attributes.layout).with_context("open " + path));
  return std::unique_ptr<OpenFile>(new OpenFile(std::make_unique<OpenFile::Impl>(
      *this, std::move(path), std::move(attributes), *node.capability(), flags, handle)));
}

std::vector<std::byte> OpenFile::Impl::share() {
  file_.exact = false;  // others may write further than this handle knows
  flatbuffers::FlatBufferBuilder builder(512);
  const Layout& from = attributes_.layout;
  const wire::Layout layout(from.stripe_size.count(), from.stripe_count, from.first_server, from.server_total,
                            0);
  const auto attributes = wire::CreateAttributes(
      builder, attributes_.inode, static_cast<std::uint8_t>(attributes_.type), attributes_.mode,
      attributes_.uid, attributes_.gid, attributes_.links, attributes_.accessed.count(),
      attributes_.modified.count(), attributes_.changed.count(), &layout);
  builder.Finish(wire::CreateNodeReply(builder, 0, 0, attributes, &file_.capability.capability()));
  const auto bytes = wire::bytes(builder);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> OpenFile::share() const { return impl_->share(); }

Result<std::unique_ptr<OpenFile>> FileSystem::adopt(std::string path, std::span<const std::byte> shared) {
  const auto* node = wire::parse<wire::NodeReply>(shared);
  if (node == nullptr)
    return Status(Code::malformed, fmt::format("open {}: what was shared does not parse", path));
  const std::uint32_t rights = node->capability() != nullptr ? node->capability()->rights() : 0;
  return impl_->make_file(std::move(path), *node, flags_of(rights), 0);
}

}  // namespace tutti
