// A client's request for a transfer, checked and taken over.
#pragma once

#include "base/status.h"
#include "server/data/session_views.h"
#include "server/data/transfer.h"
#include "wire/messages.h"

namespace tutti {

// Whether the message has what a transfer needs, where it may be read. One that has not was sent by no honest client.
[[nodiscard]] bool sound(const wire::TransferRequest* request);
// Takes over what the client asks for, after a check of its claims: Code::invalid or Code::too_large; and if it names a
// view that is not there, or not for this, Code::not_found or Code::unsupported.
[[nodiscard]] Status take_over(const wire::TransferRequest& request, bool write, SessionViews* views,
                               Transfer& transfer);
// The same for bytes that are only to be fetched.
[[nodiscard]] bool sound(const wire::PrefetchRequest* request);
[[nodiscard]] Status take_over(const wire::PrefetchRequest& request, Transfer& transfer);

}  // namespace tutti
