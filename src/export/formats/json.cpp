// SPDX-License-Identifier: BSD-3-Clause
#include "export/json.hpp"
#include "export/format.hpp"

namespace iotrail::output {

extern const Format kFormatJson = {
    .name = "json",
    .doc = "One JSON array of objects.",
    .gives = Gives::stream,
    .make = [](Sink& sink, std::size_t) -> std::unique_ptr<Output> {
      return std::make_unique<JsonOutput>(sink);
    },
};

} // namespace iotrail::output
