// SPDX-License-Identifier: BSD-3-Clause
#include "trail/state/link.hpp"

namespace iotrail::trail {

std::string_view cause_name(Cause cause) {
  static constexpr std::string_view kNames[] = {
#define CAUSE(name, words, meaning) #name,
      IOTRAIL_CAUSES(CAUSE)
#undef CAUSE
  };
  return kNames[static_cast<std::size_t>(cause)];
}

std::string_view cause_words(Cause cause) {
  static constexpr std::string_view kWords[] = {
#define CAUSE(name, words, meaning) words,
      IOTRAIL_CAUSES(CAUSE)
#undef CAUSE
  };
  return kWords[static_cast<std::size_t>(cause)];
}

std::string_view cause_meaning(Cause cause) {
  static constexpr std::string_view kMeanings[] = {
#define CAUSE(name, words, meaning) meaning,
      IOTRAIL_CAUSES(CAUSE)
#undef CAUSE
  };
  return kMeanings[static_cast<std::size_t>(cause)];
}

std::string_view confidence_name(Confidence confidence) {
  static constexpr std::string_view kNames[] = {"exact", "shared", "inferred"};
  return kNames[static_cast<std::size_t>(confidence)];
}

} // namespace iotrail::trail
