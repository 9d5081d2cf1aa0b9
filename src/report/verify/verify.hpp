// SPDX-License-Identifier: BSD-3-Clause
//
// The result of `verify`: whether all events and all bytes of devices are accounted for, and which
// are not.
#pragma once

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

struct Verification {
  Document document;
  // False: something does not add up, is damaged, or cannot be checked. The last is the case if the
  // recording has no end, failed, or may have uncounted losses. Counted losses and remainders add
  // up.
  bool is_clean = false;
};

Result<Verification> make_verification(analysis::Engine& engine);

} // namespace iotrail::output
