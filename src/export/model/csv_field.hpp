// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "text/sink.hpp"

namespace iotrail::output {

// A field of RFC 4180: quoted if it must be. An empty text stays empty.
inline void put_csv_field(Sink& sink, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos)
    return sink.put(text);
  sink.put('"');
  for (const char c : text) {
    if (c == '"')
      sink.put('"');
    sink.put(c);
  }
  sink.put('"');
}

} // namespace iotrail::output
