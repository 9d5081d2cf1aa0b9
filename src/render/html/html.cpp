// SPDX-License-Identifier: BSD-3-Clause
#include "render/html/html.hpp"

#include <cstdint>
#include <string>

#include "render/html/data.hpp"
#include "render/html/escaped_html.hpp"
#include "render/html/ui.hpp"
#include "render/text/value_text.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t digit_of(char hex) {
  return static_cast<std::uint32_t>(hex <= '9' ? hex - '0' : hex - 'a' + 10);
}

// A policy names a hash in base64. Three hexadecimal digits are two of base64.
std::string base64_of(std::string_view hex) {
  std::string text;
  for (std::size_t at = 0; at < hex.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 3; ++i)
      bits = bits * 16 + (i < hex.size() ? digit_of(hex[i]) : 0);
    text += kBase64[bits >> 6U];
    if (at + 1 < hex.size())
      text += kBase64[bits & 63U];
  }
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

// An attribute of the element that the script fills.
std::string_view use_attribute(PageUse use) {
  switch (use) {
  case PageUse::file:
    return "";
  case PageUse::served:
    return " data-served=\"ended\"";
  case PageUse::running:
    return " data-served=\"running\"";
  }
  return "";
}

void put_part(std::string_view name, const Page& page, PageUse use, const PageFiles& files,
              Sink& sink) {
  if (name == "POLICY")
    sink.put(page_policy(use));
  else if (name == "USE")
    sink.put(use_attribute(use));
  else if (name == "TITLE")
    sink.put(escaped_html(sentence_text(page.answer ? page.answer->title : page.report.title)));
  else if (name == "STYLE")
    sink.put(files.style);
  else if (name == "SCRIPT")
    sink.put(files.script);
  else if (name == "DATA")
    sink.put(page_data(page));
}

} // namespace

std::string page_policy(PageUse use) {
  const PageFiles& files = page_files();
  return fmt::format("default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; "
                     "{}base-uri 'none'; form-action 'none'",
                     base64_of(files.script_sha256), base64_of(files.style_sha256),
                     use == PageUse::file ? "" : "connect-src 'self'; ");
}

void render_html(const Page& page, Sink& sink, PageUse use) {
  const PageFiles& files = page_files();
  std::string_view rest = files.html;
  for (auto open = rest.find('@'); open != rest.npos; open = rest.find('@')) {
    const auto close = rest.find('@', open + 1);
    sink.put(rest.substr(0, open));
    put_part(rest.substr(open + 1, close - open - 1), page, use, files, sink);
    rest.remove_prefix(close + 1);
  }
  sink.put(rest);
}

} // namespace iotrail::output
