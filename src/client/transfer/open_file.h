// The inside of OpenFile: the striping engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/file_system_impl.h"
#include "client/transfer/pieces.h"
#include "client/transfer/taking.h"

namespace tutti {

class OpenFile::Impl {
 public:
  Impl(FileSystem::Impl& system, std::string path, Attributes attributes, const wire::Capability& capability,
       std::uint32_t open_flags);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // Tells the servers what was taken without asking, if the file system is still there.
  ~Impl();

  // A read or write of file extents from or to memory; both lists sum up to the same. A read tells in `short_read`
  // whether a server had fewer bytes; what it lacked is zeros in memory.
  Task<Status> transfer(bool write, std::span<const Extent> file, std::span<const Segment> memory,
                        bool& short_read);
  // How many of the bytes of `file` count as read if the file is `length` long.
  static Bytes bytes_before(Bytes length, std::span<const Extent> file);
  Task<Result<Bytes>> length();
  Task<Status> truncate(Bytes length);
  Task<Status> sync();
  Task<Status> close();
  Task<Result<LockId>> lock(Extent range, bool exclusive, Nanos patience);
  Task<Status> unlock(LockId lock);

  std::vector<std::byte> share() const;

  const Attributes& attributes() const { return attributes_; }

 private:
  struct Job {
    bool write = false;
    wire::Tag tag;  // the same in all pieces: servers order operations, not messages
    std::vector<Piece> pieces;
    std::size_t next = 0;
    bool short_read = false;
    bool failed = false;
  };
  Task<Status> work(Job& job);
  Task<Status> move(Job& job, const Piece& piece);
  Task<Result<Channel::Reply>> ask(const std::shared_ptr<Channel>& channel, const Job& job,
                                   const Piece& piece);

  enum class Verb : std::uint8_t { sync, truncate };
  // Tells all servers of the file to sync, or to truncate so that the file is `length` long.
  Task<Status> on_all_servers(Verb verb, Bytes length);
  Task<Status> on_server(Verb verb, std::uint32_t slot, Bytes length);
  ServerLink& link(std::uint32_t slot) { return *system_.data[attributes_.layout.server_of_slot(slot)]; }
  static bool accept(Job& job, const Piece& piece, const wire::TransferReply& reply);
  // Makes the capability good again after a server called it expired.
  Task<Status> renew();

  FileSystem::Impl& system_;
  std::string path_;
  Attributes attributes_;
  wire::Capability capability_;
  std::uint32_t open_flags_;
  bool written_ = false;
  // What this handle wrote to each server since its last sync, and in which boot of the server: one that has lost
  // power since may have lost the writes, and then a sync must not succeed.
  struct Unsynced {
    std::uint64_t writes = 0;
    std::uint64_t boot = 0;
    bool lost = false;
  };
  void wrote(std::uint32_t slot, std::uint64_t boot);
  Status synced(std::uint32_t slot, std::uint64_t boot, std::uint64_t writes);
  std::vector<Unsynced> unsynced_;  // by slot
  std::vector<Taking> taking_;      // by slot
};

}  // namespace tutti
