// SPDX-License-Identifier: BSD-3-Clause
//
// A program that damages the memory by which the preload library hands over its calls. Then it
// opens, writes and closes a file 200 times and exits with status 9. Its arguments name the part,
// and the pattern to overwrite it with; for the part "file", the damage to the file itself; "none"
// damages nothing.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "capture/preload/shared/arena.hpp"

using namespace iotrail::capture::preload;

namespace {

constexpr int kStatus = 9;
constexpr int kRounds = 200;

// A part of the arena's file that this program may write to.
struct Piece {
  unsigned char* begin;
  std::size_t bytes;
  std::size_t offset; // in the file
};

// The file begins with the part that every thread may write; the rings of this thread follow it.
std::vector<Piece> find_arena() {
  std::vector<Piece> found;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  char line[512];
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    char* end = nullptr;
    const std::uintptr_t from = std::strtoull(line, &end, 16);
    const std::uintptr_t to = std::strtoull(end + 1, &end, 16);
    constexpr std::string_view kRights = " rw-s ";
    if (std::strstr(line, "iotrail-arena-") == nullptr ||
        !std::string_view(end).starts_with(kRights))
      continue;
    const std::size_t offset = std::strtoull(end + kRights.size(), nullptr, 16);
    found.push_back({reinterpret_cast<unsigned char*>(from), to - from, offset});
  }
  std::fclose(maps);
  return found;
}

const Piece* find_piece(const std::vector<Piece>& arena, std::size_t offset) {
  const auto piece = std::ranges::find_if(arena, [&](const Piece& candidate) {
    return candidate.offset <= offset && offset < candidate.offset + candidate.bytes;
  });
  return piece == arena.end() ? nullptr : &*piece;
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

void fill_all(const std::vector<Piece>& arena, std::string_view pattern) {
  for (const Piece& piece : arena)
    fill(piece.begin, piece.bytes, pattern);
}

// False: there is no such part.
bool overwrite(const std::vector<Piece>& arena, std::string_view part, std::string_view pattern) {
  const Piece* header = find_piece(arena, 0);
  if (header == nullptr)
    return false;
  std::size_t slots = 0;
  std::memcpy(&slots, header->begin + offsetof(ArenaHeader, slots), sizeof(iot_u32));
  const std::size_t rings = rings_offset(kPlaces);
  const struct {
    std::string_view name;
    std::size_t from;
    std::size_t bytes;
  } parts[] = {{"header", 0, sizeof(ArenaHeader)},
               {"owners", owners_offset(), kPlaces * sizeof(iot_u64)},
               {"place", places_offset(kPlaces), sizeof(ThreadSlot)},
               {"places", places_offset(kPlaces), kPlaces * sizeof(ThreadSlot)},
               {"records", rings, slots / 64 * sizeof(RawRecord)},
               {"text", rings + text_offset(static_cast<iot_u32>(slots)), kPageBytes}};
  if (part == "whole") {
    fill_all(arena, pattern);
    return true;
  }
  for (const auto& known : parts)
    if (known.name == part)
      if (const Piece* piece = find_piece(arena, known.from);
          piece != nullptr && known.from + known.bytes <= piece->offset + piece->bytes) {
        fill(piece->begin + (known.from - piece->offset), known.bytes, pattern);
        return true;
      }
  return false;
}

// False: impossible.
bool harm_file(std::string_view how) {
  const char* const path = std::getenv(kArenaVariable);
  struct stat attributes{};
  if (path == nullptr || stat(path, &attributes) != 0)
    return false;
  if (how == "unlink")
    return unlink(path) == 0;
  return truncate(path, how == "half" ? attributes.st_size / 2 : 0) == 0;
}

bool harm(const std::vector<Piece>& arena, std::string_view part, std::string_view how) {
  if (part == "none")
    return true;
  if (part == "file")
    return harm_file(how);
  return overwrite(arena, part, how);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5)
    return 2;
  const std::vector<Piece> arena = find_arena();
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
