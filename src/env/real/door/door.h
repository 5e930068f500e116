// Door: how a process comes to the gate through the one that started it.
//
// `tutti run --gate` stays while its program runs, and holds the job's session with the coordinator. The processes of the
// launch on its host come to it by an abstract Unix socket whose name is in the environment. A connection is a turn: the
// process asks, is answered when it may write, and closes the connection when it has written. Processes that ask for the same
// join one turn of the job. Whoever finds no door, or nobody behind it, writes without asking.
//
// C library only: this is in every process of a launch (posix/gate_stub.cc), and has no state but the page.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::door {

// Of the environment.
inline constexpr const char* kNameVariable = "TUTTI_GATE_DOOR";
inline constexpr const char* kScopeVariable = "TUTTI_GATE_SCOPE";  // file, call or manual
inline constexpr const char* kDirectoryVariable =
    "TUTTI_GATE_DIRECTORY";  // POSIX calls below these, parted by ':', are gated
inline constexpr const char* kSyncVariable =
    "TUTTI_GATE_SYNC";  // "1": files are flushed before the turn ends

// Shared by all processes of the launch on this host: what they have written, so that a job that hangs is noticed; and in which
// turn they write to each data server of Tutti.
inline constexpr std::size_t kPlaces = 256;
struct Page {
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> fences[kPlaces];  // by number of the server modulo kPlaces; 0: in none
};

enum Flag : std::uint32_t {
  kLinger = 1,    // the turn is held a little longer than the last of those who joined it
  kWantPage = 2,  // the reply brings the page's descriptor
  kServers = 4,   // of a file on Tutti: its data servers follow; else `device` says where it is
  kPageOnly = 8,  // it asks for nothing else: somebody else of the job asked for its turn
};

// First the request, then the servers' numbers (32 bits each), then the label, in one packet.
struct Request {
  std::uint32_t version = 1;
  std::uint32_t flags = 0;
  std::uint64_t device = 0;
  std::uint64_t expected = 0;  // bytes; 0: not known
  std::uint32_t servers = 0;   // how many
  std::uint32_t label = 0;     // bytes
};
struct Reply {
  std::uint32_t version = 1;
  std::uint32_t outcome = 0;  // a GateOutcome (client/gate_session.h)
  std::uint64_t fence = 0;
};
inline constexpr std::uint32_t kMostServers = 4096;
inline constexpr std::uint32_t kMostLabel = 255;

struct Want {
  const char* label = "";
  bool linger = false;
  std::uint64_t device = 0;                // st_dev, or
  const std::uint32_t* servers = nullptr;  // on Tutti
  std::uint32_t server_count = 0;
  std::uint64_t expected = 0;
};

// A turn, or the wait for one. Of the process that asked: one that was forked off leaves it alone.
struct Turn {
  int fd = -1;  // -1: none, and nothing to end
  std::uint64_t inode = 0;
  pid_t owner = 0;
  std::uint32_t outcome = 0;
  std::uint64_t fence = 0;
};

// Whether there is a door at all.
bool present();
// Asks and does not wait. The turn has no descriptor if nobody is behind the door.
Turn ask(const Want& want);
// Whether it is decided; then `outcome` and `fence` count. One without a descriptor is.
bool test(Turn& turn);
void wait(Turn& turn);
inline Turn begin(const Want& want) {
  Turn turn = ask(want);
  wait(turn);
  return turn;
}
void end(Turn& turn);

// For a process that writes in a turn that another one asked for: so that progress() is heard.
void fetch_page();
// Tells the page that so many bytes were written.
void progress(std::uint64_t bytes);

// The fencing number of the turn in which this data server of Tutti is written to; 0: none.
std::uint64_t fence_of(std::uint32_t server);

// Where a file is or would be: st_dev of it, or of the directory that it would be in; 0 if that is not to be had.
std::uint64_t device_of(const char* path);

}  // namespace tutti::door
