"""Deliberate breakages of the code: each takes away one thing that the promises of ARCHITECTURE.md rest on.

`find` stands in the file once and becomes `put`, in which BROKEN is a condition that holds."""

from collections import namedtuple

Breakage = namedtuple("Breakage", "name what file find put test", defaults=["schedules"])

BREAKAGES = [
    Breakage(
        "no_fence",
        "a data server does not refuse what is asked under a lost lock",
        "src/server/data/lock_fences.cc",
        "  if (lock.number() == 0 || fences_.empty()) return false;\n",
        "  if (BROKEN || lock.number() == 0 || fences_.empty()) return false;\n",
    ),
    Breakage(
        "lock_not_confirmed",
        "a client goes on under a lock with a data server that has restarted, without asking whether it holds it",
        "src/client/lock_keeper.cc",
        "  return found == held_.end() || (!found->second.lost && found->second.asked >= time);\n",
        "  return BROKEN || found == held_.end() || (!found->second.lost && found->second.asked >= time);\n",
    ),
    Breakage(
        "replay_twice",
        "a write that is repeated after a lost answer is applied again",
        "src/server/data/replay.cc",
        "    if (each.number != number) continue;\n",
        "    if (BROKEN || each.number != number) continue;\n",
        "histories",
    ),
    Breakage(
        "change_twice",
        "a metadata change that is repeated after a lost answer is made again",
        "src/server/meta/repeat.cc",
        "  if (ticket.key.sequence == 0) return std::optional<std::string>();\n",
        "  if (BROKEN || ticket.key.sequence == 0) return std::optional<std::string>();\n",
    ),
    Breakage(
        "sync_without_syncing",
        "a sync is answered without a sync of the store",
        "src/server/data/whole_object.cc",
        "  Status status = co_await store_.sync(transfer.object);\n",
        "  Status status;\n  if (!(BROKEN)) status = co_await store_.sync(transfer.object);\n",
    ),
    Breakage(
        "sync_forgets_losses",
        "a sync succeeds although a server has lost power since the writes",
        "src/client/transfer/unsynced.cc",
        "  if (!record.lost && (record.writes == 0 || record.boot == boot)) {\n",
        "  if (BROKEN || (!record.lost && (record.writes == 0 || record.boot == boot))) {\n",
    ),
    Breakage(
        "zeros_past_the_end",
        "a read past the end of the file gives zeros",
        "src/client/transfer/transfer.cc",
        "  ShortPieces missing = transfer.short_pieces();\n",
        "  ShortPieces missing = transfer.short_pieces();\n  if (BROKEN) missing.clear();\n",
    ),
    Breakage(
        "any_store",
        "the metadata server accepts any store: an empty one in the place of the old",
        "src/server/meta/stores.cc",
        "Status judge(const Superblock& superblock, const std::optional<Uuid>& recorded, const EnrolMessage& shown) {\n",
        "Status judge(const Superblock& superblock, const std::optional<Uuid>& recorded, const EnrolMessage& shown) {\n"
        "  if (BROKEN) return {};\n",
    ),
    Breakage(
        "lost_truncate",
        "a truncate is answered and not done",
        "src/server/data/whole_object.cc",
        "    if (shorter || (wish.grow && old < wish.length))\n",
        "    if (!(BROKEN) && (shorter || (wish.grow && old < wish.length)))\n",
    ),
    Breakage(
        "torn_by_a_cut",
        "a write in several messages is not repeated when its object was cut between them",
        "src/client/transfer/send.cc",
        "    each.torn = each.torn || each.cuts != cuts;\n",
        "    each.torn = !(BROKEN) && (each.torn || each.cuts != cuts);\n",
    ),
    Breakage(
        "forgotten_removals",
        "a metadata server that restarts does not take up what is left to be removed",
        "src/server/meta/purge.cc",
        "  for (const Inode& node : *left) held_.emplace(node.id, Held{node.layout, false});\n",
        "  if (!(BROKEN))\n"
        "    for (const Inode& node : *left) held_.emplace(node.id, Held{node.layout, false});\n",
    ),
    Breakage(
        "no_claims",
        "a client does not claim its open files from a metadata server that has restarted",
        "src/client/handle_keeper.cc",
        "  std::vector<std::uint64_t> handles;\n  for (const auto& [handle, capability] : held_) handles.push_back(handle);\n",
        "  std::vector<std::uint64_t> handles;\n  if (BROKEN) return;\n"
        "  for (const auto& [handle, capability] : held_) handles.push_back(handle);\n",
    ),
    Breakage(
        "acknowledged_before_the_write",
        "a write is acknowledged although the store failed",
        "src/server/data/dispatcher.cc",
        "    if (turn.stalled) co_return park(turn);\n    if (!status.ok()) transfer.fail(std::move(status));\n",
        "    if (turn.stalled) co_return park(turn);\n"
        "    if (!status.ok() && !(BROKEN && transfer.write)) transfer.fail(std::move(status));\n",
    ),
    Breakage(
        "removed_while_open",
        "the objects of a removed file go although somebody has it open",
        "src/server/meta/purge.cc",
        "  if (grace_ || is_open_(file)) {\n",
        "  if (!(BROKEN) && (grace_ || is_open_(file))) {\n",
    ),
]
