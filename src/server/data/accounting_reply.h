// A data server's accounts as a message.
#pragma once

#include <vector>

#include "server/data/accounting.h"
#include "wire/messages.h"

namespace tutti {

flatbuffers::FlatBufferBuilder applications_reply(const std::vector<Accounting::Row>& rows);

}  // namespace tutti
