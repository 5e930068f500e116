// tutti visit-worker: one client of target-synthetic in reality. Opens the file, says "ready", and for each line with a pattern
// on its standard input moves its part and says how long that took, in nanoseconds.
#include <iostream>
#include <memory>
#include <sstream>

#include "base/parse.h"
#include "cli/client.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

struct WorkerOptions {
  std::string path;
  std::uint64_t rank = 0;
  std::uint64_t ranks = 1;
  std::uint64_t length = 0;
};

int work(const Globals& globals, const WorkerOptions& options) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("visit-worker", client.status());
  OpenOptions open;
  open.write = open.create = true;
  auto opened = (*client)->run((*client)->files().open(options.path, open));
  if (!opened.ok()) return report("visit-worker", opened.status());
  OpenFile& file = **opened;
  file.set_rank(static_cast<std::uint32_t>(options.rank), static_cast<std::uint32_t>(options.ranks));
  (*client)->run(file.connect(10_s));
  std::vector<std::byte> memory(options.length);
  const Bytes offset(options.rank * options.length);
  std::cout << "ready" << std::endl;
  // "read|write ORDER BLOCK IN-FLIGHT"
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string operation;
    VisitWish wish;
    std::uint64_t block = 0;
    words >> operation >> wish.order >> block >> wish.in_flight;
    wish.block = Bytes(block);
    if (const Status known = file.set_visit(wish); !known.ok()) return report("visit-worker", known);
    Clock& clock = (*client)->loop().clock();
    const Nanos begin = clock.now();
    const Status moved = operation == "write" ? (*client)->run(file.write(offset, memory))
                                              : (*client)->run(file.read(offset, memory)).status();
    if (!moved.ok()) return report("visit-worker", moved);
    std::cout << (clock.now() - begin).count() << std::endl;
  }
  return kSuccess;
}

}  // namespace

void add_visit_worker(Command& root) {
  auto options = std::make_shared<WorkerOptions>();
  Command worker = root.add("visit-worker", "A client of `tutti lab run target-synthetic --real`",
                            "tutti lab run target-synthetic --real");
  worker.hide();
  worker.option("--path", options->path, "").required();
  worker.option("--rank", options->rank, "");
  worker.option("--ranks", options->ranks, "");
  worker.option("--length", options->length, "").required();
  worker.action([&globals = root.globals(), options] { return work(globals, *options); });
}

}  // namespace tutti::cli
