// SPDX-License-Identifier: BSD-3-Clause
#include "text/text_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <utility>

namespace iotrail::output {

namespace {

constexpr std::string_view kCut = "...";
constexpr std::size_t kLeastColumns = 20; // a smaller reported width is not trusted

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
}

// Bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && count-- == 0)
      break;
  return at;
}

std::string_view first(std::string_view text, std::size_t count) {
  return text.substr(0, bytes_of(text, count));
}

std::string_view last(std::string_view text, std::size_t count) {
  return text.substr(bytes_of(text, display_width(text) - count));
}

std::size_t columns_of_environment() {
  const char* text = std::getenv("COLUMNS");
  std::size_t columns = 0;
  if (text != nullptr)
    std::from_chars(text, text + std::string_view(text).size(), columns);
  return columns;
}

} // namespace

std::size_t terminal_width(int fd) {
  if (const std::size_t columns = columns_of_environment(); columns >= kLeastColumns)
    return columns;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeastColumns ? size.ws_col
                                                                             : kPlainWidth;
}

std::size_t terminal_height(int fd) {
  winsize size{};
  return ::isatty(fd) == 1 && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row
                                                                                     : kAnyHeight;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string shortened_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width)
    return std::string(text);
  if (width <= kCut.size())
    return std::string(first(text, width));
  const std::size_t room = width - kCut.size();
  // The last component of a path stays whole if it fits.
  const std::size_t name = text.contains('/') ? display_width(text.substr(text.rfind('/'))) : 0;
  const std::size_t tail = std::max(room - room / 3, name <= room ? name : 0);
  return std::string(first(text, room - tail)).append(kCut).append(last(text, tail));
}

namespace {

// Bytes that all texts begin with, up to the last slash in them.
std::size_t common_directory(std::span<const std::string> texts,
                             std::span<const std::size_t> rows) {
  std::string_view common = texts[rows.front()];
  for (const std::size_t row : rows)
    common = common.substr(0, static_cast<std::size_t>(
                                  std::ranges::mismatch(common, texts[row]).in1 - common.begin()));
  return common.rfind('/') == std::string_view::npos ? 0 : common.rfind('/') + 1;
}

std::string shortened_from(std::string_view text, std::size_t begin, std::size_t width) {
  return std::string(kCut).append(shortened_end(text.substr(begin), width - kCut.size()));
}

} // namespace

std::vector<std::string> shortened_apart(std::span<const std::string> texts, std::size_t width) {
  std::vector<std::string> shortened;
  std::map<std::string_view, std::vector<std::size_t>> alike; // rows by their shortened text
  for (const std::string& text : texts)
    shortened.push_back(shortened_middle(text, width));
  for (std::size_t row = 0; row < texts.size(); ++row)
    alike[shortened[row]].push_back(row);
  std::vector<std::pair<std::size_t, std::string>> changed;
  for (const auto& [text, rows] : alike) {
    if (width <= 2 * kCut.size() || std::ranges::all_of(rows, [&](std::size_t row) {
          return texts[row] == texts[rows.front()];
        }))
      continue;
    const std::size_t begin = common_directory(texts, rows);
    for (const std::size_t row : rows)
      changed.emplace_back(row, shortened_from(texts[row], begin, width));
  }
  for (auto& [row, text] : changed)
    shortened[row] = std::move(text);
  return shortened;
}

std::string shortened_end(std::string_view text, std::size_t width) {
  if (display_width(text) <= width)
    return std::string(text);
  const std::size_t cut = std::min(width, kCut.size());
  return std::string(first(text, width - cut)).append(kCut.substr(0, cut));
}

namespace {

std::size_t next_blank(std::string_view text, std::size_t from) {
  return std::min(text.find(' ', from), text.size());
}

// The end of a command that begins at `begin`: for one with a trace's path, its quote or the next
// semicolon; for others the end of its options.
std::size_t command_end(std::string_view text, std::size_t begin) {
  const bool is_quoted = begin > 0 && text[begin - 1] == '`';
  const std::size_t end = std::min(text.find(is_quoted ? '`' : ';', begin), text.size());
  if (is_quoted || text.substr(begin, end - begin).contains(" TRACE"))
    return next_blank(text, end);
  std::size_t last = next_blank(text, begin + std::string_view("iotrail ").size());
  while (text.substr(std::min(last + 1, text.size())).starts_with("--"))
    last = next_blank(text, last + 1);
  return last;
}

bool is_unit(std::string_view word) {
  constexpr std::string_view kUnits[] = {"%", "ns", "us",  "ms",  "s",   "min",
                                         "h", "B",  "KiB", "MiB", "GiB", "TiB"};
  return std::ranges::find(kUnits, word.substr(0, word.find_last_not_of(";:,.)") + 1)) !=
         std::end(kUnits);
}

// The end of a quoted text that begins here, as a command or a path with blanks; 0: none does.
std::size_t quote_end(std::string_view text) {
  const std::size_t open = std::min(text.find_first_not_of('('), text.size());
  const std::string_view rest = text.substr(open);
  if (rest.empty() || !std::string_view("`'\"").contains(rest.front()))
    return 0;
  const std::size_t close = rest.find(rest.front(), 1);
  return close == rest.npos ? 0 : next_blank(text, open + close);
}

// The end of an unbreakable piece: a word, a number with its unit, a quoted text, a command to copy.
std::size_t word_end(std::string_view text, std::size_t width) {
  const std::size_t end = next_blank(text, 0);
  const std::size_t begin = text.find_first_not_of("`('\"");
  if (begin != text.npos && text.substr(begin).starts_with("iotrail ")) {
    const std::size_t whole = command_end(text, begin);
    return display_width(text.substr(0, whole)) <= width ? whole : end;
  }
  if (const std::size_t quoted = quote_end(text);
      quoted != 0 && display_width(text.substr(0, quoted)) <= width)
    return quoted;
  if (end == 0 || end >= text.size() ||
      std::isdigit(static_cast<unsigned char>(text[end - 1])) == 0)
    return end;
  const std::size_t next = next_blank(text, end + 1);
  return is_unit(text.substr(end + 1, next - end - 1)) ? next : end;
}

} // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0; // of the last line
  while (!text.empty()) {
    const std::size_t end = word_end(text, width);
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t word_width = display_width(word);
    if (!lines.back().empty() && used + 1 + word_width > width) {
      lines.emplace_back();
      used = 0;
    }
    if (!lines.back().empty()) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += word_width;
  }
  return lines;
}

std::vector<std::string> folded(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : wrapped(text, width)) {
    std::string_view rest = line;
    while (display_width(rest) > width && width > 0) {
      const std::string_view most = first(rest, width);
      const std::size_t mark = most.find_last_of(" _-./,:");
      const std::size_t end = mark == most.npos ? most.size() : mark + 1;
      lines.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    lines.emplace_back(rest);
  }
  return lines;
}

std::string shortened_fact(std::string_view text, std::size_t width) {
  constexpr std::size_t kMost = 4'000;
  constexpr std::size_t kMostOfAll = 32'000;
  return shortened_end(text, width == kAnyWidth ? kMostOfAll : kMost);
}

} // namespace iotrail::output
