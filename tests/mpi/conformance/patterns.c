// Random nested types, the strided pattern of the benchmark, external32.
#include <stdlib.h>
#include <string.h>

#include "conform.h"

static MPI_Status status;

static void bounds(MPI_Datatype type, MPI_Aint* low, MPI_Aint* extent) {
  OK(MPI_Type_get_extent(type, low, extent));
}

// One more level around `type`, which is freed. Of a file: ascending. Nothing negative and nothing empty: ROMIO errs.
static MPI_Datatype wrap(unsigned long* state, MPI_Datatype type, int of_file) {
  MPI_Datatype made;
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  bounds(type, &low, &extent);
  const int count = 1 + (int)draw(state, 4);
  switch (draw(state, 5)) {
    case 0:
      OK(MPI_Type_contiguous(count, type, &made));
      break;
    case 1: {
      const int length = 1 + (int)draw(state, 3);
      OK(MPI_Type_vector(count, length, length + (int)draw(state, 4), type, &made));
      break;
    }
    case 2: {
      int lengths[4];
      MPI_Aint places[4];
      MPI_Aint end = 0;
      for (int i = 0; i < count; ++i) {
        lengths[i] = 1 + (int)draw(state, 3);
        places[i] = end + (i == 0 ? 0 : (MPI_Aint)draw(state, 30));
        end = places[i] + lengths[i] * extent;
      }
      for (int i = 0; !of_file && i < count; ++i) places[i] = end - places[i] - lengths[i] * extent;
      OK(MPI_Type_create_hindexed(count, lengths, places, type, &made));
      break;
    }
    case 3: {
      const int lengths[] = {2, 1};
      const MPI_Aint places[] = {0, 20};
      const MPI_Datatype types[] = {MPI_BYTE, type};
      MPI_Datatype loose;
      OK(MPI_Type_create_struct(2, lengths, places, types, &loose));
      OK(MPI_Type_create_resized(loose, 0, 20 + low + extent,
                                 &made));  // of itself it differs between libraries
      OK(MPI_Type_free(&loose));
      break;
    }
    default:
      OK(MPI_Type_create_resized(type, low, extent + (MPI_Aint)draw(state, 40), &made));
  }
  OK(MPI_Type_free(&type));
  return made;
}

static MPI_Datatype random_type(unsigned long* state, int of_file) {
  MPI_Datatype type;
  OK(MPI_Type_contiguous(1 + (int)draw(state, 20), MPI_BYTE, &type));
  for (int depth = 1 + (int)draw(state, 3); depth > 0; --depth) type = wrap(state, type, of_file);
  OK(MPI_Type_commit(&type));
  return type;
}

// What reading into memory full of nines must give: the bytes of the type, and nines between them.
static char* only_bytes_of(const char* data, size_t room, int count, MPI_Datatype type) {
  int size = 0;
  int packed = 0;
  int unpacked = 0;
  char* result = malloc(room);
  memset(result, 9, room);
  OK(MPI_Pack_size(count, type, MPI_COMM_SELF, &size));
  char* pack = malloc((size_t)size);
  OK(MPI_Pack(data, count, type, pack, size, &packed, MPI_COMM_SELF));
  OK(MPI_Unpack(pack, packed, &unpacked, result, count, type, MPI_COMM_SELF));
  free(pack);
  return result;
}

static void random_round(MPI_File file, unsigned round) {
  unsigned long common = round * 77777UL + 5;
  unsigned long own = common + (unsigned long)the.rank * 1000003UL;
  MPI_Datatype type = random_type(&common, 1);
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  bounds(type, &low, &extent);
  MPI_Datatype wide = interleave(type);
  MPI_Datatype memory = random_type(&own, 0);
  bounds(memory, &low, &extent);
  const int count = 1 + (int)draw(&own, 40);
  const size_t room = (size_t)(low + extent * count + 64) + 8192;
  char* data = malloc(room);
  fill(data, room, round);
  MPI_Aint part = 0;
  bounds(type, &low, &part);
  const MPI_Offset displacement = (MPI_Offset)round * 300000 + the.rank * part;
  const MPI_Offset offset = (MPI_Offset)draw(&own, 50);
  OK(MPI_File_set_view(file, displacement, MPI_BYTE, wide, "native", MPI_INFO_NULL));
  if (draw(&common, 2) == 0) {
    OK(MPI_File_write_at_all(file, offset, data, count, memory, &status));
  } else {
    OK(MPI_File_write_at(file, offset, data, count, memory, &status));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  say_status("write", &status, MPI_BYTE);
  char* expected = only_bytes_of(data, room, count, memory);
  memset(data, 9, room);
  if (draw(&common, 2) == 0) {
    OK(MPI_File_read_at_all(file, offset, data, count, memory, &status));
  } else {
    OK(MPI_File_read_at(file, offset, data, count, memory, &status));
  }
  // Open MPI's own reads some of these short.
  int read = 0;
  OK(MPI_Get_count(&status, memory, &read));
  if (!the.reference && (read != count || memcmp(data, expected, room) != 0))
    say("FAILED round %u: %d read", round, read);
  free(expected);
  free(data);
  OK(MPI_Type_free(&memory));
  OK(MPI_Type_free(&wide));
  OK(MPI_Type_free(&type));
}

void case_random(void) {
  if (unsound_reference()) return;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_size(file, 24 * 300000));
  MPI_Barrier(MPI_COMM_WORLD);
  for (unsigned round = 0; round < 24; ++round) random_round(file, round);
  close_file(&file);
}

void case_strided(void) {
  // Blocks of 3,240 bytes, of all ranks in turn: a row of them, and rows behind each other.
  enum { kBytes = 3240, kRow = 5, kRows = 12 };
  const int count = kBytes * kRow * kRows;
  char* data = malloc((size_t)count);
  char* back = calloc((size_t)count, 1);
  fill(data, (size_t)count, 1);
  MPI_Datatype row;
  MPI_Datatype type;
  OK(MPI_Type_vector(kRow, kBytes, kBytes * the.size, MPI_BYTE, &row));
  OK(MPI_Type_create_hvector(kRows, 1, (MPI_Aint)kBytes * the.size * kRow, row, &type));
  OK(MPI_Type_commit(&type));
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_view(file, (MPI_Offset)the.rank * kBytes, MPI_BYTE, type, "native", MPI_INFO_NULL));
  OK(MPI_File_write_all(file, data, count, MPI_BYTE, &status));
  say_status("write", &status, MPI_BYTE);
  OK(MPI_File_read_at_all(file, 0, back, count, MPI_BYTE, &status));
  if (memcmp(data, back, (size_t)count) != 0) say("FAILED: not what was written together");
  fill(data, (size_t)count, 2);
  OK(MPI_File_write_at(file, 100, data, count / 2, MPI_BYTE, &status));
  OK(MPI_File_read_at(file, 100, back, count / 2, MPI_BYTE, &status));
  if (memcmp(data, back, (size_t)count / 2) != 0) say("FAILED: not what was written alone");
  OK(MPI_Type_free(&row));
  OK(MPI_Type_free(&type));
  free(data);
  free(back);
  close_file(&file);
}

void case_external32(void) {
  if (unsound_reference()) return;
  struct {
    int number;
    double real;
    short little;
    char letter;
  } records[5], back[5];
  memset(records, 0, sizeof(records));
  for (int i = 0; i < 5; ++i) {
    records[i].number = 0x01020304 * (i + 1) + the.rank;
    records[i].real = 1.5 * i - the.rank;
    records[i].little = (short)(-258 * i);
    records[i].letter = (char)('a' + i);
  }
  MPI_Datatype parts;
  MPI_Datatype type;
  const int lengths[] = {1, 1, 1, 1};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_CHAR};
  MPI_Aint places[4];
  MPI_Aint base;
  OK(MPI_Get_address(&records[0], &base));
  OK(MPI_Get_address(&records[0].number, &places[0]));
  OK(MPI_Get_address(&records[0].real, &places[1]));
  OK(MPI_Get_address(&records[0].little, &places[2]));
  OK(MPI_Get_address(&records[0].letter, &places[3]));
  for (int i = 0; i < 4; ++i) places[i] -= base;
  OK(MPI_Type_create_struct(4, lengths, places, types, &parts));
  OK(MPI_Type_create_resized(parts, 0, sizeof(records[0]), &type));
  OK(MPI_Type_commit(&type));
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(file, the.rank * 75, records, 5, type, &status));
  say_status("write", &status, type);
  memset(back, 0, sizeof(back));
  OK(MPI_File_read_at_all(file, the.rank * 75, back, 5, type, &status));
  say_status("read", &status, type);
  if (memcmp(records, back, sizeof(records)) != 0) say("FAILED: not what was written");
  // The same bytes, natively.
  unsigned char bytes[75];
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(file, the.rank * 75, bytes, 75, MPI_BYTE, &status));
  say_bytes("native", bytes, 75);
  say("first bytes %02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
  OK(MPI_Type_free(&parts));
  OK(MPI_Type_free(&type));
  close_file(&file);
}
