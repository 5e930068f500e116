// Repair: puts the metadata right where check() found them wrong, in one transaction. Pure.
//
// Names that lead nowhere go; what has no name gets one in /lost+found, which only root may enter; counts and parents are
// set to what is there; objects of living files are taken off the list of removals. No object is touched.
#pragma once

#include "env/kv.h"
#include "server/check/snapshot.h"

namespace tutti::check {

// `wall` is the present. Nobody else may change the metadata between the snapshot and this.
Status repair(KvWriter& kv, const Snapshot& snapshot, Nanos wall);

}  // namespace tutti::check
