// FileHints: what an MPI program asks for by MPI_Info, as values. Pure.
//
// Hints never fail a call: a value that makes no sense is left out and reported, as is a known hint without meaning
// here. All ranks of a file use those of rank 0, so that they agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/file_system.h"
#include "parallel/collective.h"

namespace tutti {

using HintList = std::vector<std::pair<std::string, std::string>>;

struct FileHints {
  LayoutWish layout;                         // striping_unit, striping_factor, start_iodevice
  std::optional<std::uint32_t> permissions;  // file_perm
  std::optional<std::uint64_t> application;  // tutti_app_id
  CollectiveOptions collective;  // tutti_collective, cb_*, romio_cb_*, romio_ds_*, ind_*; not aggregators
  std::string cb_config_list;    // empty: any rank may aggregate
  VisitWish visit;               // tutti_target_order, tutti_schedule_block, tutti_pieces_in_flight
  bool no_independent = false;   // romio_no_indep_rw: collective buffering whatever the access

  // What reads and writes go by: `collective`, with what other hints change in it.
  [[nodiscard]] CollectiveOptions options() const;
};

// What became of hints that had no effect, each "key" or "key=value: why".
struct HintReport {
  std::vector<std::string> ignored;  // known, without meaning here
  std::vector<std::string> refused;  // a value that makes no sense
};

// Takes the hints into `hints`, in order. Unknown keys are skipped: they are for other libraries.
HintReport apply_hints(const HintList& list, FileHints& hints);

// The values in effect for a file of so many ranks, in order of key, as MPI_File_get_info returns them.
HintList effective_hints(const FileHints& hints, const Layout& layout, std::uint64_t application, int ranks);

// ROMIO_HINTS: lines of key and value; '#' begins a comment.
HintList parse_hints_file(std::string_view text);
// Those of `defaults` whose keys are not in `list` are appended to it.
void add_default_hints(const HintList& defaults, HintList& list);

// For a broadcast. decode_hints() takes only what encode_hints() made.
std::string encode_hints(const HintList& list);
HintList decode_hints(std::string_view bytes);

// The ranks that may aggregate by cb_config_list ("*:1", "node3:2,*:0"), at most `most` (0: no limit): of each host as
// many as the first entry that names it says, in order of rank. `hosts` are the processor names by rank. Empty if the
// list cannot be read or leaves nobody: then any rank may.
std::vector<int> aggregators_by_host(std::string_view config_list, std::span<const std::string> hosts,
                                     std::int64_t most);

}  // namespace tutti
