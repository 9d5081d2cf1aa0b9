// SPDX-License-Identifier: BSD-3-Clause
//
// A program that harms the memory by which the preload library hands its calls over, then opens, writes and closes a file 200
// times and ends with status 9. It is told the part and with what pattern to overwrite it; for the part "file", what to do to
// the file itself; "none" is left alone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "capture/preload/arena.hpp"

using namespace iotrail::capture::preload;

namespace {

constexpr int kStatus = 9;
constexpr int kRounds = 200;

struct Memory {
  unsigned char* begin = nullptr;
  std::size_t bytes = 0; // that may be written to
};

// The arena begins with what every thread may write; the rings of this thread follow it.
Memory find_arena() {
  Memory found;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  char line[512];
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    char* end = nullptr;
    const std::uintptr_t from = std::strtoull(line, &end, 16);
    const std::uintptr_t to = std::strtoull(end + 1, &end, 16);
    if (std::strstr(line, "iotrail-arena-") == nullptr || std::strstr(line, " rw-s ") == nullptr)
      continue;
    if (found.begin == nullptr)
      found.begin = reinterpret_cast<unsigned char*>(from);
    found.bytes = to - reinterpret_cast<std::uintptr_t>(found.begin);
  }
  std::fclose(maps);
  return found;
}

void fill(unsigned char* at, std::size_t bytes, std::string_view pattern) {
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    at[i] = pattern == "lcg"    ? static_cast<unsigned char>(state >> 56U)
            : pattern == "ones" ? 0xff
                                : 0;
  }
}

// False: there is no such part.
bool overwrite(const Memory& arena, std::string_view part, std::string_view pattern) {
  std::size_t slots = 0;
  std::memcpy(&slots, arena.begin + offsetof(ArenaHeader, slots), sizeof(iot_u32));
  const std::size_t rings = rings_offset(kPlaces);
  const struct {
    std::string_view name;
    std::size_t from;
    std::size_t bytes;
  } parts[] = {{"whole", 0, arena.bytes},
               {"header", 0, sizeof(ArenaHeader)},
               {"owners", owners_offset(), kPlaces * sizeof(iot_u64)},
               {"place", places_offset(kPlaces), sizeof(Place)},
               {"places", places_offset(kPlaces), kPlaces * sizeof(Place)},
               {"records", rings, slots / 64 * sizeof(RawRecord)},
               {"text", rings + text_offset(static_cast<iot_u32>(slots)), kPageBytes}};
  for (const auto& known : parts)
    if (known.name == part && known.from + known.bytes <= arena.bytes) {
      fill(arena.begin + known.from, known.bytes, pattern);
      return true;
    }
  return false;
}

// False: it cannot be done.
bool harm_file(std::string_view how) {
  const char* const path = std::getenv(kArenaVariable);
  struct stat attributes{};
  if (path == nullptr || stat(path, &attributes) != 0)
    return false;
  if (how == "unlink")
    return unlink(path) == 0;
  return truncate(path, how == "half" ? attributes.st_size / 2 : 0) == 0;
}

bool harm(const Memory& arena, std::string_view part, std::string_view how) {
  if (part == "none")
    return true;
  if (part == "file")
    return harm_file(how);
  return arena.begin != nullptr && overwrite(arena, part, how);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5)
    return 2;
  const Memory arena = find_arena();
  for (int i = 0; i < 10; ++i)
    close(open("/dev/null", O_RDONLY));
  usleep(static_cast<useconds_t>(std::atoi(argv[4])));
  if (!harm(arena, argv[1], argv[2]))
    return 3;
  for (int i = 0; i < kRounds; ++i) {
    const int file = open(argv[3], O_WRONLY | O_CREAT, 0600);
    if (write(file, "x", 1) != 1)
      return 4;
    close(file);
  }
  return kStatus;
}
