// tutti put: local files and trees into the cluster.
//
// A file is written under a temporary name in its directory and renamed at the end: readers see the old file
// or the new one, and a put that fails leaves the old one.
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

constexpr Nanos kTidyPatience = 5_s;

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
    tidy();
    interrupted_ = status.code() == Code::cancelled;
    return status.ok() ? kSuccess : fail(source, status);
  }

  Task<Status> transfer(int from, std::string name, std::string destination, std::uint32_t mode) {
    FileSystem& files = client_.files();
    // Asked before the transfer, because rename would tell only after it.
    const auto there = co_await files.stat(destination);
    if (there.ok() && there->type == FileType::directory) {
      co_return Status(Code::is_directory, destination + " is a directory");
    }
    if (!there.ok() && there.code() != Code::not_found) co_return there.status();
    const std::string directory = destination.substr(0, destination.rfind('/') + 1);
    const std::string temporary =
        fmt::format("{}.tutti-put-{:016x}-{}", directory, files.client_id(), ++counter_);
    OpenOptions open;
    open.read = false;
    open.write = true;
    open.create = true;
    open.exclusive = true;
    open.mode = mode;
    open.layout = layout_;
    temporary_ = temporary;
    auto file = co_await files.open(temporary, open);
    if (!file.ok()) co_return file.status().with_context(destination);
    TUTTI_CO_TRY(co_await copy_in(client_, from, name, **file));
    if (options_.sync) TUTTI_CO_TRY(co_await (*file)->sync());
    TUTTI_CO_TRY(co_await (*file)->close());
    TUTTI_CO_TRY(co_await files.rename(temporary, destination));
    temporary_.reset();
    co_return Status();
  }

  // Removes what a failed or interrupted transfer left.
  void tidy() {
    if (!temporary_) return;
    auto removal =
        with_timeout(client_.loop().clock(), kTidyPatience, client_.files().unlink(*temporary_), "unlink");
    const Status removed = client_.run(std::move(removal));
    if (!removed.ok() && removed.code() != Code::not_found) {
      print_error("put", removed.with_context(*temporary_ + " is left behind"));
    }
    temporary_.reset();
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
  std::optional<std::string> temporary_;
  std::uint64_t counter_ = 0;
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
      return report("put -", Status(Code::is_directory, "name the file that standard input goes to"));
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
      .at_least(2);
  put.flag("-r,--recursive", options->recursive, "Directories with all they hold");
  put.flag("--sync", options->sync, "Return only when the bytes would survive loss of power");
  add_striping(put, options->striping);
  put.action([&globals = root.globals(), options] { return run_put(globals, *options); });
}

}  // namespace tutti::cli
