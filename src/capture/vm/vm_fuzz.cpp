// SPDX-License-Identifier: BSD-3-Clause
//
// Made-up images of QCOW2, and made-up command lines of QEMU.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "capture/vm/qcow2.hpp"
#include "capture/vm/qemu_command.hpp"

using namespace iotrail::capture::vm;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ReadAt read = [&](std::uint64_t position, std::span<std::byte> bytes) {
    if (position > size || bytes.size() > size - position)
      return false;
    std::memcpy(bytes.data(), data + position, bytes.size());
    return true;
  };
  if (const auto header = read_qcow2_header(read)) {
    MapBudget budget{.table_bytes = 1U << 20U, .ranges = 1000};
    (void)read_qcow2_map(read, size, *header, budget);
  }
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < size; ++i)
    if (data[i] == 0)
      words.emplace_back();
    else
      words.back() += static_cast<char>(data[i]);
  (void)parse_qemu_command(words);
  return 0;
}
