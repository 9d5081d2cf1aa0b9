// SPDX-License-Identifier: BSD-3-Clause
//
// Sends a file to an HTTP server. The program curl does it: a process of its own meets the server's
// bytes, TLS and certificates are the system's, and iotrail needs no library for it. Addresses may
// have secrets: curl gets them by its standard input, and messages show them without their query.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::serve {

struct HttpUpload {
  std::string url;
  std::filesystem::path file;
  std::string name{};   // of the file in messages; empty: its path
  bool is_post = false; // else PUT
  std::string type = "application/octet-stream";
  // Further attempts if the server cannot be reached, or answers with 408, 429, 500, 502, 503 or
  // 504, or breaks the connection; after 1, 2, 4, ... seconds. 6 of them last a minute. A server
  // that asks for a longer wait than all of them gets no further attempt.
  unsigned retries = 6;
};

// "http://..." or "https://..."
bool is_http_url(std::string_view text);

// Before the work: whether the address is one, and curl is there.
Result<void> check_http_url(const std::string& option, const std::string& url);

// "https://server/path", without what follows: for messages.
std::string shown_url(std::string_view url);

// The address of a file below a prefix; its query stays behind the path.
std::string url_below(std::string_view prefix, const std::filesystem::path& relative);

// Success: the server answered with a status from 200 to 299.
Result<void> send_file(const HttpUpload& upload);

} // namespace iotrail::serve
