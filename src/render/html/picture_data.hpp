// SPDX-License-Identifier: BSD-3-Clause
//
// The pictures of a page as JSON for its script.
#pragma once

#include "report/page/pictures.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// More numbers make the bins of a picture wider. A number takes about six characters.
inline constexpr std::size_t kNumbersOfPicture = 40'000;

void put_pictures(Sink& sink, const Pictures& pictures);

} // namespace iotrail::output
