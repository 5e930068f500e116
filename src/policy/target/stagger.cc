#include "policy/target/stagger.h"

namespace tutti {

std::array<Extent, 2> staggered(Extent range, const ForeignStriping& striping, std::uint32_t rank) {
  const Extent nothing{range.end(), 0_B};
  if (!striping.known()) return {range, nothing};
  const std::uint64_t first = range.offset.count() / striping.unit.count();
  const std::uint64_t steps =
      (rank % striping.servers + striping.servers - first % striping.servers) % striping.servers;
  const Bytes begin = striping.unit * (first + steps);
  if (steps == 0 || begin >= range.end()) return {range, nothing};
  return {Extent{begin, range.end() - begin}, Extent{range.offset, begin - range.offset}};
}

}  // namespace tutti
