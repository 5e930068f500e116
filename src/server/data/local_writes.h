// LocalWriteGrants: writes that a client on this host does by itself.
//
// Where the store lets others write its objects, a client of the server's own user that writes an object again and again is
// told, while nobody waits, that it may write some bytes more without asking, anywhere in the object and for a short time. It
// gets a file for that, and a word in memory that changes before the object is cut or removed, which ends the grant: bytes
// that it finds written under an unchanged word are in the object. It tells afterwards how much it wrote.
// Never under a lock: a client that is stopped cannot be kept from writing on.
// The client's side is in client/transfer/.
#pragma once

#include "base/units.h"
#include "env/store.h"
#include "server/data/transfer.h"

namespace tutti {

class LocalWriteGrants {
 public:
  // The most that may be written without asking is `most_ahead`. The store must outlive this.
  LocalWriteGrants(Store& store, Bytes most_ahead)
      : store_(store), writable_(store.traits().writable), most_ahead_(most_ahead) {}

  // No bytes: it has to ask.
  struct Grant {
    WritableObject object;
    Bytes bytes;
    Nanos time;
  };
  // Goes with the reply to a write that went well; its files are on the way then.
  [[nodiscard]] Grant grant(const Transfer& transfer) const;

 private:
  Store& store_;
  bool writable_;
  Bytes most_ahead_;
};

}  // namespace tutti
