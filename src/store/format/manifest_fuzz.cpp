// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes manifests: any text, as it is and with a matching checksum. The reader refuses it, or its
// meaning survives writing and reading again.
#include <cstdint>
#include <string_view>

#include "store/format/manifest.hpp"
#include "store/format/manifest_text.hpp"

using namespace iotrail;
using namespace iotrail::store;

static void read(std::string_view text) {
  const auto stored = manifest_from_json(text);
  if (!stored)
    return;
  const std::string written = to_json(stored->manifest);
  const auto again = manifest_from_json(written);
  IOTRAIL_CHECK(again.has_value());
  IOTRAIL_CHECK(to_json(again->manifest) == written);
  IOTRAIL_CHECK(with_tag(text, "name", "value").has_value());
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read(seal(text));
  return 0;
}
