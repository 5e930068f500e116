// tutti put: local files and trees into the cluster.
//
// A file is written without a name and gets it at the end: readers see the old file or the new one, a put that fails
// leaves the old one, and one that is killed leaves nothing. Where a new file would not be the same to others as the old
// one written to (it has more names, or another owner), the old one is written to, as cp does it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/files/striping.h"
#include "cli/files/transfer.h"
#include "env/real/local_files.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

struct PutOptions {
  std::vector<std::string> paths;  // sources, then the destination
  bool recursive = false;
  bool sync = false;
  StripingOptions striping;
};

class Putter {
 public:
  Putter(Client& client, const PutOptions& options, LayoutWish layout)
      : client_(client), options_(options), layout_(layout) {}

  // Exit code; has reported what went wrong.
  int put(const std::string& source, const std::string& destination) {
    std::error_code error;
    const auto kind = source == "-" ? fs::file_type::regular : fs::status(source, error).type();
    if (kind == fs::file_type::not_found || kind == fs::file_type::none) {
      return fail(source, Status::from_errno(error ? error.value() : ENOENT, "open " + source));
    }
    if (kind != fs::file_type::directory) return put_file(source, destination);
    if (!options_.recursive) {
      return fail(source, Status(Code::is_directory, "is a directory; use -r to put it with all it holds"));
    }
    return put_tree(source, destination);
  }
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  int fail(const std::string& source, const Status& status) {
    print_error("put " + source, status);
    return kFailure;
  }

  int put_file(const std::string& source, const std::string& destination) {
    const Fd opened(source == "-" ? ::dup(STDIN_FILENO) : ::open(source.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.valid()) return fail(source, Status::from_errno(errno, "open " + source));
    struct stat info {};
    if (::fstat(opened.get(), &info) != 0) return fail(source, Status::from_errno(errno, "stat " + source));
    std::uint32_t mode = info.st_mode & 0777U;
    if (!S_ISREG(info.st_mode)) {
      const mode_t mask = ::umask(0);
      ::umask(mask);
      mode = 0666U & ~mask;
    }
    const Status status = client_.run_interruptible(transfer(opened.get(), source, destination, mode));
    interrupted_ = status.code() == Code::cancelled;
    return status.ok() ? kSuccess : fail(source, status);
  }

  Task<Status> transfer(int from, std::string name, std::string destination, std::uint32_t mode) {
    FileSystem& files = client_.files();
    TUTTI_CO_TRY(co_await follow_links(destination));
    const auto there = co_await files.stat(destination);
    if (there.ok() && there->type == FileType::directory)
      co_return Status(Code::is_directory, destination + " is a directory");
    if (!there.ok() && there.code() != Code::not_found) co_return there.status();
    OpenOptions open;
    open.read = false;
    open.write = true;
    std::unique_ptr<OpenFile> old;
    if (there.ok()) {
      // Whoever may not write to it may not replace it either.
      auto opened = co_await files.open(destination, open);
      if (!opened.ok()) co_return opened.status();
      old = *std::move(opened);
      mode = there->mode;
    }
    open.create = true;
    open.unnamed = true;
    open.mode = mode;
    open.layout = layout_;
    auto fresh = co_await files.open(destination.substr(0, destination.rfind('/') + 1), open);
    if (there.ok() && !replaceable(*there, fresh)) co_return co_await write_to(std::move(old), from, name);
    if (!fresh.ok()) co_return fresh.status().with_context(destination);
    if (old) TUTTI_CO_TRY(co_await old->close());
    TUTTI_CO_TRY(co_await copy_in(client_, from, name, **fresh));
    if (options_.sync) TUTTI_CO_TRY(co_await (*fresh)->sync());
    TUTTI_CO_TRY(co_await (*fresh)->give_name(destination, true));
    TUTTI_CO_TRY(co_await keep_owner(destination, there, **fresh));
    co_return co_await (*fresh)->close();
  }

  // Makes `path` what the symbolic link there leads to.
  Task<Status> follow_links(std::string& path) {
    constexpr int kMost = 40;
    for (int links = 0; links < kMost; ++links) {
      const auto there = co_await client_.files().stat(path, false);
      if (!there.ok() && there.code() == Code::not_found && links > 0)
        co_return Status(Code::not_found, "the symbolic link leads to " + path + ", which does not exist");
      if (!there.ok() || there->type != FileType::symlink) co_return Status();
      path = there->target.starts_with('/') ? there->target
                                            : path.substr(0, path.rfind('/') + 1) + there->target;
    }
    co_return Status(Code::invalid, path + ": too many symbolic links");
  }

  // Whether others see no difference between the old file with new bytes and the new file in its place.
  static bool replaceable(const Attributes& old, const Result<std::unique_ptr<OpenFile>>& fresh) {
    if (old.links > 1 || !fresh.ok()) return false;
    const Attributes& made = (*fresh)->attributes();
    return (made.uid == old.uid && made.gid == old.gid) || made.uid == 0;
  }

  // Root may make a file that another user owns.
  Task<Status> keep_owner(const std::string& path, const Result<Attributes>& old, const OpenFile& fresh) {
    const Attributes& made = fresh.attributes();
    if (!old.ok() || (made.uid == old->uid && made.gid == old->gid)) co_return Status();
    AttributeChange change;
    change.uid = old->uid;
    change.gid = old->gid;
    change.mode = old->mode;
    co_return co_await client_.files().set_attributes(path, change);
  }

  Task<Status> write_to(std::unique_ptr<OpenFile> old, int from, std::string name) {
    if (options_.striping.size || options_.striping.count || options_.striping.first) {
      co_return Status(Code::invalid,
                       "it exists and cannot be replaced, and its striping does not change; remove it first");
    }
    TUTTI_CO_TRY(co_await old->truncate(0_B));
    TUTTI_CO_TRY(co_await copy_in(client_, from, name, *old));
    if (options_.sync) TUTTI_CO_TRY(co_await old->sync());
    co_return co_await old->close();
  }

  int put_tree(const std::string& source, const std::string& destination) {
    int code = make_directory(source, destination);
    if (code != kSuccess) return code;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(source, error)) {
      const std::string path = entry.path().string();
      const std::string target = join_path(destination, entry.path().filename().string());
      int result = kSuccess;
      if (entry.is_symlink(error)) {
        result = put_symlink(path, target);
      } else if (entry.is_directory(error)) {
        result = put_tree(path, target);
      } else if (entry.is_regular_file(error)) {
        result = put_file(path, target);
      } else {
        result = fail(path,
                      Status(Code::unsupported, "is neither file, directory nor symbolic link; passed over"));
      }
      if (result != kSuccess) code = result;
      if (interrupted_) return code;
    }
    if (error) return fail(source, Status::from_errno(error.value(), "list " + source));
    return code;
  }

  int make_directory(const std::string& source, const std::string& destination) {
    struct stat info {};
    if (::stat(source.c_str(), &info) != 0) return fail(source, Status::from_errno(errno, "stat " + source));
    const Status made =
        client_.run(client_.files().make_directory(destination, info.st_mode & 07777U, layout_));
    if (made.ok()) return kSuccess;
    if (made.code() == Code::exists) {
      const auto there = client_.run(client_.files().stat(destination));
      if (there.ok() && there->type == FileType::directory) return kSuccess;
    }
    return fail(source, made);
  }

  int put_symlink(const std::string& source, const std::string& destination) {
    std::error_code error;
    const fs::path target = fs::read_symlink(source, error);
    if (error) return fail(source, Status::from_errno(error.value(), "read link " + source));
    const Status made = client_.run(client_.files().symlink(target.string(), destination));
    return made.ok() ? kSuccess : fail(source, made);
  }

  Client& client_;
  const PutOptions& options_;
  LayoutWish layout_;
  bool interrupted_ = false;
};

std::string source_name(const std::string& source) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(source, error);
  return error ? base_name(source) : whole.filename().string();
}

int run_put(const Globals& globals, const PutOptions& options) {
  const auto layout = layout_wish(options.striping);
  if (!layout.ok()) return report("put", layout.status());
  auto client = Client::open(globals);
  if (!client.ok()) return report("put", client.status());
  const std::string destination = cluster_path(options.paths.back());
  const std::vector<std::string> sources(options.paths.begin(), options.paths.end() - 1);
  const auto there = (*client)->run((*client)->files().stat(destination));
  if (!there.ok() && there.code() != Code::not_found)
    return report("put " + options.paths.back(), there.status());
  const bool into = there.ok() && there->type == FileType::directory;
  if (!into && (sources.size() > 1 || destination.ends_with('/'))) {
    return report("put", Status(Code::not_directory, options.paths.back() + " is not a directory"));
  }
  Putter putter(**client, options, *layout);
  int code = kSuccess;
  for (const std::string& source : sources) {
    if (into && source == "-") {
      print_error("put -", Status(Code::is_directory, "name the file that standard input goes to"));
      return kUsage;
    }
    const int result = putter.put(source, into ? join_path(destination, source_name(source)) : destination);
    if (result != kSuccess) code = result;
    if (putter.interrupted()) return kInterrupted;
  }
  return code;
}

}  // namespace

void add_put(Command& root) {
  auto options = std::make_shared<PutOptions>();
  Command put =
      root.add("put", "Copy local files into the cluster",
               "tutti put -r run42 /archive\n  tar c . | tutti put - /backup.tar --stripe-size 1MiB");
  put.option("paths", options->paths, "SOURCE... DESTINATION; the source '-' is standard input")
      .required()
      .at_least(2)
      .not_empty();
  put.flag("-r,--recursive", options->recursive, "Directories with all they hold");
  put.flag("--sync", options->sync, "Return only when the bytes would survive loss of power");
  add_striping(put, options->striping);
  put.action([&globals = root.globals(), options] { return run_put(globals, *options); });
}

}  // namespace tutti::cli
