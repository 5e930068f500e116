// tutti bench: the benchmarks, by name.
#include "cli/command.h"

namespace tutti::cli {

void add_bench(Command& root) {
  Command bench = root.add("bench", "Measure", "tutti bench sim --json");
  bench.needs_command();
#define TUTTI_BENCHMARK(name) add_bench_##name(bench);
#include "cli/bench/benchmarks.def"
#undef TUTTI_BENCHMARK
}

}  // namespace tutti::cli
