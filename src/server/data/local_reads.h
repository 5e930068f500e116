// LocalReadGrants: reads that a client on this host does by itself.
//
// Where the store shares its objects, their bytes need not be moved: the server gives the client a file, tells it when
// its turn has come, and the client copies from the file at its own expense. While nobody else waits, a client that reads
// an object again and again is told so for some bytes more as well, wherever they lie in it and for a short time; it tells
// afterwards what it read without asking.
// The client's side is in client/transfer/.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "env/store.h"
#include "server/data/transfer.h"
#include "wire/messages.h"

namespace tutti {

class LocalReadGrants {
 public:
  // The most that may be read without asking is `most_ahead`. The store must outlive this.
  LocalReadGrants(Store& store, Bytes most_ahead)
      : store_(store), shareable_(store.traits().shareable), most_ahead_(most_ahead) {}

  // The turn of a read has come: its client reads by itself from now on if it can and the object is shared; see
  // Transfer::local. Returns whether it does.
  bool offer(Transfer& transfer);

  // How many bytes below which offset of the object, and for how long, the client may read without asking; 0: it has
  // to ask.
  struct Grant {
    Bytes end;
    Bytes bytes;
    Nanos time;
  };
  // Goes with the reply to a read; noted in its session.
  [[nodiscard]] Grant grant(const Transfer& transfer) const;

 private:
  Store& store_;
  bool shareable_;
  Bytes most_ahead_;
};

}  // namespace tutti
