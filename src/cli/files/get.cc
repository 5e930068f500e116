// tutti get: files and trees of the cluster into the local system.
//
// A new file comes under a temporary name and is renamed at the end, so that no partial file is ever seen under its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/files/transfer.h"
#include "env/real/local_files.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

struct GetOptions {
  std::vector<std::string> paths;  // sources, then the destination
  bool recursive = false;
};

// Where a file goes to: as cp does it. What is written in whole comes under a temporary name and is renamed at the end,
// in place of a file that has no other names and may be written; everything else is opened and written to.
class Destination {
 public:
  static Result<std::unique_ptr<Destination>> open(const std::string& path, std::uint32_t mode,
                                                   std::uint64_t number) {
    std::unique_ptr<Destination> made(new Destination);
    TUTTI_TRY(made->find(path));
    struct stat info {};
    const bool there = ::stat(made->path_.c_str(), &info) == 0;
    if (!there && errno != ENOENT) return Status::from_errno(errno, "look at " + path);
    if (there && S_ISDIR(info.st_mode)) return Status(Code::is_directory, path + " is a directory");
    if (there && ::access(made->path_.c_str(), W_OK) != 0)
      return Status::from_errno(errno, "write to " + path);
    const bool whole = !there || (S_ISREG(info.st_mode) && info.st_nlink == 1);
    if (whole && made->create_temporary(number, there ? info.st_mode & 07777U : mode & ~umask_of(),
                                        there ? &info : nullptr))
      return made;
    TUTTI_TRY(made->open_in_place(there, info));
    return made;
  }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;
  ~Destination() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  [[nodiscard]] int fd() const { return file_.get(); }
  // Neither a device nor a pipe: bytes may come in any order.
  [[nodiscard]] bool regular() const { return regular_; }
  // A pipe without a reader: open() again when it may have one.
  [[nodiscard]] bool waits() const { return !file_.valid(); }

  // Everything is there.
  Status finish() {
    if (temporary_.empty()) return {};
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
      return Status::from_errno(errno, "create " + path_);
    temporary_.clear();
    return {};
  }

 private:
  Destination() = default;

  static std::uint32_t umask_of() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return mask;
  }

  // What a symbolic link leads to.
  Status find(const std::string& path) {
    path_ = path;
    std::error_code error;
    if (!fs::is_symlink(path, error)) return {};
    const fs::path target = fs::canonical(path, error);
    if (error)
      return {Code::not_found, fmt::format("{} is a symbolic link to something that does not exist", path)};
    path_ = target.string();
    return {};
  }

  // False if it cannot take the place of what is there without a difference.
  bool create_temporary(std::uint64_t number, std::uint32_t mode, const struct stat* there) {
    const fs::path parent = fs::path(path_).parent_path();
    const std::string path = join_path(parent.empty() ? "." : parent.string(),
                                       fmt::format(".tutti-get-{}-{}", ::getpid(), number));
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) return false;
    temporary_ = path;
    struct stat made {};
    const bool own = there == nullptr || (::fstat(file.get(), &made) == 0 && made.st_uid == there->st_uid &&
                                          made.st_gid == there->st_gid);
    const bool same = own || ::fchown(file.get(), there->st_uid, there->st_gid) == 0;
    if (!same || ::fchmod(file.get(), mode) != 0) {
      ::unlink(path.c_str());
      temporary_.clear();
      return false;
    }
    file_ = std::move(file);
    return true;
  }

  Status open_in_place(bool there, const struct stat& info) {
    regular_ = !there || S_ISREG(info.st_mode);
    const bool pipe = there && S_ISFIFO(info.st_mode);
    const int flags = O_WRONLY | O_CLOEXEC | (regular_ ? O_CREAT | O_TRUNC : 0) | (pipe ? O_NONBLOCK : 0);
    file_ = Fd(::open(path_.c_str(), flags, 0600));
    if (!file_.valid() && !(pipe && errno == ENXIO)) return Status::from_errno(errno, "open " + path_);
    if (pipe && file_.valid()) ::fcntl(file_.get(), F_SETFL, 0);  // from here on it waits for its reader
    return {};
  }

  std::string path_;
  std::string temporary_;  // empty: written in place
  Fd file_;
  bool regular_ = true;
};

class Getter {
 public:
  Getter(Client& client, bool recursive) : client_(client), recursive_(recursive) {}
  [[nodiscard]] bool interrupted() const { return interrupted_; }

  int get(const std::string& source, const std::string& destination) {
    const auto attributes = client_.run(client_.files().stat(source));
    if (!attributes.ok()) return fail(source, attributes.status());
    if (attributes->type != FileType::directory) return get_file(source, destination);
    if (!recursive_) {
      return fail(source, Status(Code::is_directory, "is a directory; use -r to get it with all it holds"));
    }
    return get_tree(source, destination, attributes->mode);
  }

 private:
  int fail(const std::string& source, const Status& status) {
    print_error("get " + source, status);
    return kFailure;
  }

  int get_file(const std::string& source, const std::string& destination) {
    const Status status = client_.run_interruptible(transfer(source, destination));
    interrupted_ = status.code() == Code::cancelled;
    return status.ok() ? kSuccess : fail(source, status);
  }

  // Cancelling it destroys the temporary file with the frame.
  Task<Status> transfer(std::string source, std::string destination) {
    constexpr Nanos kPause = 20_ms;
    const OpenOptions open;
    auto file = co_await client_.files().open(source, open);
    if (!file.ok()) co_return file.status();
    if (destination == "-") co_return co_await copy_to_stream(**file, STDOUT_FILENO, "standard output");
    const std::uint32_t mode = (*file)->attributes().mode & 0777U;
    auto to = Destination::open(destination, mode, ++counter_);
    while (to.ok() && (*to)->waits()) {
      co_await client_.loop().clock().sleep(kPause);
      to = Destination::open(destination, mode, ++counter_);
    }
    if (!to.ok()) co_return to.status();
    if ((*to)->regular()) {
      TUTTI_CO_TRY(co_await copy_out(client_, **file, (*to)->fd(), destination));
    } else {
      TUTTI_CO_TRY(co_await copy_to_stream(**file, (*to)->fd(), destination));
    }
    TUTTI_CO_TRY((*to)->finish());
    co_return co_await (*file)->close();
  }

  int get_tree(const std::string& source, const std::string& destination, std::uint32_t mode) {
    const auto entries = client_.run(client_.files().list(source, true));
    if (!entries.ok()) return fail(source, entries.status());
    // Writable until it is full; its own mode comes last.
    if (::mkdir(destination.c_str(), 0700) != 0 && (errno != EEXIST || !fs::is_directory(destination))) {
      return fail(source, Status::from_errno(errno, "create directory " + destination));
    }
    int code = kSuccess;
    for (const DirectoryEntry& entry : *entries) {
      const int result = get_entry(entry, source, destination);
      if (result != kSuccess) code = result;
      if (interrupted_) return code;
    }
    if (::chmod(destination.c_str(), mode & 0777U) != 0) {
      return fail(source, Status::from_errno(errno, "set the mode of " + destination));
    }
    return code;
  }

  int get_entry(const DirectoryEntry& entry, const std::string& source, const std::string& destination) {
    const std::string from = join_path(source, entry.name);
    // A server is not trusted to name files outside the destination.
    if (entry.name.empty() || entry.name == "." || entry.name == ".." ||
        entry.name.find('/') != std::string::npos) {
      return fail(from, Status(Code::malformed, "the server gave a name that no file can have"));
    }
    const std::string to = join_path(destination, entry.name);
    if (entry.type == FileType::directory) {
      return get_tree(from, to, entry.attributes ? entry.attributes->mode : 0755U);
    }
    if (entry.type == FileType::file) return get_file(from, to);
    const auto link = client_.run(client_.files().stat(from, false));
    if (!link.ok()) return fail(from, link.status());
    if (::symlink(link->target.c_str(), to.c_str()) != 0)
      return fail(from, Status::from_errno(errno, "create " + to));
    return kSuccess;
  }

  Client& client_;
  bool recursive_;
  bool interrupted_ = false;
  std::uint64_t counter_ = 0;
};

int run_get(const Globals& globals, const GetOptions& options) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("get", client.status());
  std::vector<std::string> sources = options.paths;
  std::string destination = ".";
  if (sources.size() > 1) {
    destination = sources.back();
    sources.pop_back();
  }
  std::error_code error;
  const bool into = destination != "-" && fs::is_directory(destination, error);
  if (!into && sources.size() > 1 && destination != "-") {
    return report("get", Status(Code::not_directory, destination + " is not a directory"));
  }
  Getter getter(**client, options.recursive);
  int code = kSuccess;
  for (const std::string& argument : sources) {
    const std::string source = cluster_path(argument);
    const int result = getter.get(source, into ? join_path(destination, base_name(source)) : destination);
    if (result != kSuccess) code = result;
    if (getter.interrupted()) return kInterrupted;
  }
  return code;
}

int run_cat(const Globals& globals, const std::vector<std::string>& paths) {
  return for_each_path(globals, "cat", paths, [](Client& client, const std::string& path) {
    const OpenOptions open;
    auto file = client.run(client.files().open(path, open));
    if (!file.ok()) return file.status();
    return client.run(copy_to_stream(**file, STDOUT_FILENO, "standard output"));
  });
}

}  // namespace

void add_get(Command& root) {
  auto options = std::make_shared<GetOptions>();
  Command get = root.add("get", "Copy files of the cluster to the local system",
                         "tutti get /results.h5 .\n  tutti get -r /archive/run42 backup");
  get.option("paths", options->paths,
             "SOURCE... [DESTINATION]; '-' is standard output, missing the current directory")
      .required()
      .at_least(1)
      .not_empty();
  get.flag("-r,--recursive", options->recursive, "Directories with all they hold");
  get.action([&globals = root.globals(), options] { return run_get(globals, *options); });
}

void add_cat(Command& root) {
  auto paths = std::make_shared<std::vector<std::string>>();
  Command cat = root.add("cat", "Print files to standard output", "tutti cat /log.txt | less");
  cat.option("paths", *paths, "Files").required().not_empty();
  cat.action([&globals = root.globals(), paths] { return run_cat(globals, *paths); });
}

}  // namespace tutti::cli
