// The shortest schedule, for schedule.h. Pure.
#pragma once

#include "policy/target/schedule.h"

namespace tutti {

// As long as the most loaded client or server is busy. The loads of all are filled up to that with idle time, so that in every
// step each takes part in exactly one transfer or rests; by Hall's theorem there is always such a step, and it lasts until the
// first of its transfers is done. Transfers of length 1 are never interrupted.
Schedule optimal_schedule(const ScheduleProblem& problem);

}  // namespace tutti
