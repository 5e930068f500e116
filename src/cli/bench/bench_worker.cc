#include "cli/bench/bench_worker.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <iostream>
#include <sstream>

#include "cli/bench/bench_peer.h"
#include "cli/bench/pingpong.h"
#include "cli/client.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr std::size_t kSmallRead = 4096;

class Worker {
 public:
  Worker(Client& client, BenchWorkerOptions options)
      : client_(client), options_(std::move(options)), random_(options_.offset) {}

  Status prepare() {
    raw_ = Fd(::open(options_.raw.c_str(), O_RDWR | O_CLOEXEC));
    if (!raw_.valid()) return Status::from_errno(errno, "open " + options_.raw);
    OpenOptions open;
    open.write = true;
    auto file = client_.run(client_.files().open(options_.path, open));
    if (!file.ok()) return file.status();
    file_ = *std::move(file);
    return {};
  }

  Result<std::string> obey(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "transfer") {
      std::string how;
      std::string direction;
      std::uint64_t size = 0;
      int passes = 0;
      words >> how >> direction >> size >> passes;
      return transfer(how, direction == "write", size, passes);
    }
    if (command == "fresh") {
      std::string how;
      std::uint64_t size = 0;
      words >> how >> size;
      return fresh(how == "tutti", size);
    }
    if (command == "discard") return discard();
    if (command == "names") {
      std::string how;
      std::string operation;
      std::uint64_t count = 0;
      std::uint64_t size = 0;
      words >> how >> operation >> count >> size;
      return names(how == "tutti", operation, count, size);
    }
    std::size_t count = 0;
    int cpu = 0;
    if (command == "latency" && words >> count) return latency(count);
    if (command == "random" && words >> count) return random_reads(count);
    if (command == "pingpong" && words >> count >> cpu) return pingpong(count, cpu);
    if (command == "pin" && words >> cpu) {
      TUTTI_TRY(pin_process(0, cpu));
      return std::string("0");
    }
    return Status(Code::invalid, "command '" + line + "'");
  }

 private:
  Result<std::string> transfer(const std::string& how, bool write, std::uint64_t size, int passes) {
    buffer_.resize(size);
    std::unique_ptr<RawTcpPeer>& peer = how == "tcp_file" ? file_peer_ : peer_;
    if (how.starts_with("tcp") && !peer) {
      auto started = RawTcpPeer::start(how == "tcp_file" ? raw_.get() : -1);
      if (!started.ok()) return started.status();
      peer = *std::move(started);
    }
    const Nanos started = client_.loop().clock().now();
    for (int pass = 0; pass < passes; ++pass) {
      for (std::uint64_t done = 0; done + size <= options_.length; done += size) {
        const std::uint64_t offset = options_.offset + done;
        TUTTI_TRY(how == "tutti" ? tutti_transfer(write, offset)
                  : how == "raw" ? raw_transfer(write, offset)
                                 : peer->transfer(write, buffer_, offset));
      }
    }
    return fmt::format("{}", (client_.loop().clock().now() - started).count());
  }

  // A file of its own, as a checkpoint makes it. Opening and closing are not timed, on either side.
  Result<std::string> fresh(bool tutti, std::uint64_t size) {
    buffer_.resize(size);
    const std::string suffix = fmt::format(".fresh.{}", options_.offset);
    std::unique_ptr<OpenFile> file;
    Fd raw;
    if (tutti) {
      OpenOptions open;
      open.write = true;
      open.create = true;
      open.exclusive = true;
      fresh_path_ = options_.path + suffix;
      auto opened = client_.run(client_.files().open(fresh_path_, open));
      if (!opened.ok()) return opened.status();
      file = *std::move(opened);
    } else {
      fresh_raw_ = options_.raw + suffix;
      raw = Fd(::open(fresh_raw_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!raw.valid()) return Status::from_errno(errno, "create " + fresh_raw_);
    }
    const Nanos started = client_.loop().clock().now();
    for (std::uint64_t at = 0; at + size <= options_.length; at += size) {
      TUTTI_TRY(tutti ? client_.run(file->write(Bytes(at), buffer_))
                      : pwrite_all(raw.get(), buffer_, at, fresh_raw_));
    }
    const Nanos took = client_.loop().clock().now() - started;
    if (tutti) TUTTI_TRY(client_.run(file->close()));
    return fmt::format("{}", took.count());
  }

  Result<std::string> discard() {
    if (const std::string path = std::exchange(fresh_path_, ""); !path.empty())
      TUTTI_TRY(client_.run(client_.files().unlink(path)));
    if (const std::string path = std::exchange(fresh_raw_, ""); !path.empty() && ::unlink(path.c_str()) != 0)
      return Status::from_errno(errno, "remove " + path);
    return std::string("0");
  }

  Result<std::string> random_reads(std::size_t count) {
    std::vector<std::byte> buffer(kSmallRead);
    const Nanos started = client_.loop().clock().now();
    const std::clock_t cpu = std::clock();
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes offset(options_.offset + random_.below(options_.length / kSmallRead) * kSmallRead);
      TUTTI_TRY(client_.run(file_->read(offset, buffer)).status());
    }
    const double cpu_ns = static_cast<double>(std::clock() - cpu) * (1e9 / CLOCKS_PER_SEC);
    return fmt::format("{} {}", (client_.loop().clock().now() - started).count(), cpu_ns);
  }

  Result<std::string> names(bool tutti, const std::string& operation, std::uint64_t count,
                            std::uint64_t size) {
    buffer_.resize(size);
    const std::uint64_t number = options_.offset / options_.length;
    const std::uint64_t owner = operation == "stat" ? (number + 1) % options_.workers : number;
    const std::string directory = names_directory(tutti ? options_.path : options_.raw);
    const Nanos started = client_.loop().clock().now();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string path = fmt::format("{}/{}.{}", directory, owner, i);
      TUTTI_TRY(tutti ? tutti_name(operation, path) : raw_name(operation, path));
    }
    return fmt::format("{}", (client_.loop().clock().now() - started).count());
  }

  Status tutti_name(const std::string& operation, const std::string& path) {
    FileSystem& files = client_.files();
    if (operation == "unlink") return client_.run(files.unlink(path));
    if (operation == "stat") {
      const auto there = client_.run(files.stat(path));
      if (!there.ok()) return there.status();
      return there->size == Bytes(buffer_.size()) ? Status() : Status(Code::io_error, path + ": wrong size");
    }
    OpenOptions open;
    open.write = true;
    open.create = true;
    open.exclusive = true;
    auto file = client_.run(files.open(path, open));
    if (!file.ok()) return file.status();
    if (!buffer_.empty()) TUTTI_TRY(client_.run((*file)->write(Bytes(0), buffer_)));
    return client_.run((*file)->close());
  }

  Status raw_name(const std::string& operation, const std::string& path) {
    if (operation == "unlink")
      return ::unlink(path.c_str()) == 0 ? Status() : Status::from_errno(errno, "remove " + path);
    struct stat info {};
    if (operation == "stat")
      return ::stat(path.c_str(), &info) == 0 ? Status() : Status::from_errno(errno, "stat " + path);
    const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) return Status::from_errno(errno, "create " + path);
    return buffer_.empty() ? Status() : pwrite_all(file.get(), buffer_, 0, path);
  }

  Status raw_transfer(bool write, std::uint64_t offset) {
    const auto at = static_cast<off_t>(offset);
    const ssize_t moved = write ? ::pwrite(raw_.get(), buffer_.data(), buffer_.size(), at)
                                : ::pread(raw_.get(), buffer_.data(), buffer_.size(), at);
    if (moved == static_cast<ssize_t>(buffer_.size())) return {};
    return Status::from_errno(moved < 0 ? errno : EIO, "raw transfer");
  }

  Status tutti_transfer(bool write, std::uint64_t offset) {
    if (write) return client_.run(file_->write(Bytes(offset), buffer_));
    const auto got = client_.run(file_->read(Bytes(offset), buffer_));
    if (!got.ok()) return got.status();
    return got->count() == buffer_.size() ? Status() : Status(Code::io_error, "short read");
  }

  Result<std::string> latency(std::size_t count) {
    std::vector<std::byte> buffer(kSmallRead);
    std::vector<std::int64_t> samples(count);
    Clock& clock = client_.loop().clock();
    for (auto& sample : samples) {
      const Bytes offset(random_.below(options_.length / kSmallRead) * kSmallRead);
      const Nanos started = clock.now();
      const auto got = client_.run(file_->read(offset, buffer));
      sample = (clock.now() - started).count();
      if (!got.ok()) return got.status();
    }
    const Percentiles found = percentiles(samples);
    return fmt::format("{} {}", found.p50, found.p99);
  }

  Result<std::string> pingpong(std::size_t count, int cpu) {
    const auto found = bare_pingpong(client_.loop().clock(), count, cpu);
    if (!found.ok()) return found.status();
    return fmt::format("{} {}", found->p50, found->p99);
  }

  Client& client_;
  BenchWorkerOptions options_;
  Random random_;
  Fd raw_;
  std::unique_ptr<OpenFile> file_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<RawTcpPeer> peer_;
  std::unique_ptr<RawTcpPeer> file_peer_;
  std::string fresh_path_, fresh_raw_;  // to be removed
};

}  // namespace

std::string names_directory(const std::string& path) { return path + ".names"; }

Status pin_process(pid_t pid, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (::sched_setaffinity(pid, sizeof(set), &set) != 0)
    return Status::from_errno(errno, fmt::format("pin to CPU {}", cpu));
  return {};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run_bench_worker(const Globals& globals, const BenchWorkerOptions& options) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("bench-worker", client.status());
  Worker worker(**client, options);
  if (const Status status = worker.prepare(); !status.ok()) return report("bench-worker", status);
  fmt::print("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const auto answer = worker.obey(line);
    if (!answer.ok()) return report("bench-worker", answer.status());
    fmt::print("{}\n", *answer);
    std::fflush(stdout);
  }
  return kSuccess;
}

void add_bench_worker(Command& root) {
  auto options = std::make_shared<BenchWorkerOptions>();
  Command worker = root.add("bench-worker", "A process of `tutti bench`", "tutti bench data");
  worker.hide();
  worker.option("--raw", options->raw, "").required();
  worker.option("--path", options->path, "").required();
  worker.option("--offset", options->offset, "");
  worker.option("--length", options->length, "").required();
  worker.option("--workers", options->workers, "");
  worker.action([&globals = root.globals(), options] { return run_bench_worker(globals, *options); });
}

Result<BenchWorkers> BenchWorkers::start(const std::string& directory, const std::string& raw,
                                         const std::string& path, std::uint64_t size, std::size_t count) {
  BenchWorkers workers;
  for (std::size_t i = 0; i < count; ++i) {
    auto child = Child::start({"tutti", "--dir", directory, "bench-worker", "--raw", raw, "--path", path,
                               "--offset", std::to_string(size / count * i), "--length",
                               std::to_string(size / count), "--workers", std::to_string(count)});
    if (!child.ok()) return child.status();
    workers.children_.push_back(*std::move(child));
  }
  for (auto& child : workers.children_) {
    const auto line = child->read_line(-1);
    if (!line.ok()) return line.status().with_context("a bench worker does not start");
  }
  return workers;
}

Result<std::vector<std::vector<double>>> BenchWorkers::ask(const std::string& command, std::size_t active) {
  const std::string line = command + "\n";
  for (std::size_t i = 0; i < active; ++i) {
    TUTTI_TRY(write_all(children_[i]->input(), std::as_bytes(std::span(line)), "a bench worker"));
  }
  std::vector<std::vector<double>> answers;
  for (std::size_t i = 0; i < active; ++i) {
    const auto answer = children_[i]->read_line(-1);
    if (!answer.ok()) return answer.status().with_context("a bench worker has ended");
    std::istringstream words(*answer);
    auto& row = answers.emplace_back();
    for (double number = 0; words >> number;) row.push_back(number);
    if (row.empty()) return Status(Code::malformed, "a bench worker answered '" + *answer + "'");
  }
  return answers;
}

}  // namespace tutti::cli
