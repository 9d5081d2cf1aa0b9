// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/packed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/result.hpp"

namespace iotrail::store {
namespace {

using Word = std::uint64_t;

constexpr unsigned kWordBits = 64;
#ifdef IOTRAIL_FUZZ
constexpr int kUnroll = 1; // with every access instrumented, unrolled code takes minutes to compile
#else
constexpr int kUnroll = kFrameValues;
#endif
constexpr std::uint8_t kShiftMask = 0x3f;
constexpr std::uint8_t kZigzag = 0x40;
constexpr std::uint8_t kAllZero = 0x80; // no widths and no frames follow

using PackFrame = void (*)(const Word* values, Word* words);

// A frame of 64 values of W bits is exactly W words. The compiler knows W, so that it computes all
// shifts.
template <unsigned W> void pack_frame(const Word* __restrict values, Word* __restrict words) {
  if constexpr (W == kWordBits) {
    std::memcpy(words, values, sizeof(Word) * kFrameValues);
  } else if constexpr (W > 0) {
    Word word = 0;
#pragma GCC unroll kUnroll
    for (unsigned i = 0; i < kFrameValues; ++i) {
      const unsigned bit = i * W % kWordBits;
      word |= values[i] << bit;
      if (bit + W >= kWordBits) {
        words[i * W / kWordBits] = word;
        word = bit + W > kWordBits ? values[i] >> ((kWordBits - bit) % kWordBits) : 0;
      }
    }
  }
}

template <unsigned W> void unpack_frame(const Word* __restrict words, Word* __restrict values) {
  if constexpr (W == kWordBits) {
    std::memcpy(values, words, sizeof(Word) * kFrameValues);
  } else if constexpr (W == 0) {
    std::fill_n(values, kFrameValues, 0);
  } else {
    constexpr Word kMask = (Word{1} << W) - 1;
#pragma GCC unroll kUnroll
    for (unsigned i = 0; i < kFrameValues; ++i) {
      const unsigned bit = i * W % kWordBits;
      const unsigned at = i * W / kWordBits;
      Word value = words[at] >> bit;
      if (bit + W > kWordBits)
        value |= words[at + 1] << ((kWordBits - bit) % kWordBits);
      values[i] = value & kMask;
    }
  }
}

template <std::size_t... W> constexpr auto pack_table(std::index_sequence<W...>) {
  return std::array<PackFrame, sizeof...(W)>{pack_frame<static_cast<unsigned>(W)>...};
}
template <std::size_t... W> constexpr auto unpack_table(std::index_sequence<W...>) {
  return std::array<PackFrame, sizeof...(W)>{unpack_frame<static_cast<unsigned>(W)>...};
}
constexpr auto kPack = pack_table(std::make_index_sequence<kWordBits + 1>());
constexpr auto kUnpack = unpack_table(std::make_index_sequence<kWordBits + 1>());

constexpr std::size_t frame_bytes(std::size_t values, std::size_t width) {
  return (values * width + 7) / 8;
}

Word or_all(std::span<const Word> values) {
  Word all = 0;
  for (const Word value : values)
    all |= value;
  return all;
}

Word fold(Word value, unsigned shift) {
  return zigzag(static_cast<std::int64_t>(value) >> shift);
}

// Bits of the frames after `prepare` has changed each value.
template <class Prepare> std::uint64_t frames_bits(std::span<const Word> values, Prepare prepare) {
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at < values.size(); at += kFrameValues) {
    const auto frame = values.subspan(at, std::min(kFrameValues, values.size() - at));
    Word all = 0;
    for (const Word value : frame)
      all |= prepare(value);
    bits += frame.size() * static_cast<unsigned>(std::bit_width(all));
  }
  return bits;
}

// Packs eight values, a byte each, into W bytes. Neighbours move together, in pairs, fours, eights.
template <unsigned W> Word squeezed(Word bytes) {
  constexpr Word kPairs = 0x00ff00ff00ff00ff;
  constexpr Word kFours = 0x0000ffff0000ffff;
  constexpr Word kEights = 0x00000000ffffffff;
  bytes = (bytes & kPairs) | (bytes & ~kPairs) >> (8 - W);
  bytes = (bytes & kFours) | (bytes & ~kFours) >> (16 - 2 * W);
  return (bytes & kEights) | (bytes & ~kEights) >> (32 - 4 * W);
}

using PackBytes = void (*)(const Word* bytes, std::byte* out);

// Packs a frame, eight values at a time. May write up to one word past its end.
template <unsigned W> void pack_bytes(const Word* bytes, std::byte* out) {
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; ++i, out += W) {
    const Word word = squeezed<W>(bytes[i]);
    std::memcpy(out, &word, sizeof word);
  }
}

template <std::size_t... W> constexpr auto pack_bytes_table(std::index_sequence<W...>) {
  return std::array<PackBytes, sizeof...(W)>{pack_bytes<static_cast<unsigned>(W)>...};
}
constexpr auto kPackBytes = pack_bytes_table(std::make_index_sequence<9>());

void read_frames(ByteReader& in, std::span<Word> values) {
  std::array<Word, kFrameValues + 1> words{};
  std::array<Word, kFrameValues> padded{};
  const ByteSpan widths = in.take((values.size() + kFrameValues - 1) / kFrameValues);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::size_t at = i * kFrameValues;
    const std::size_t count = std::min(kFrameValues, values.size() - at);
    const auto width = static_cast<std::size_t>(widths[i]);
    const ByteSpan from = in.take(frame_bytes(count, width));
    if (!in.ok() || width > kWordBits) {
      in.fail();
      return;
    }
    std::memcpy(words.data(), from.data(), from.size());
    kUnpack[width](words.data(), count == kFrameValues ? &values[at] : padded.data());
    if (count < kFrameValues)
      std::copy_n(padded.begin(), count, values.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

} // namespace

PackedChoice choose_form(std::span<const Word> values) {
  if (values.empty())
    return {};
  const Word low = static_cast<Word>(
      std::ranges::min(values, {}, [](Word value) { return static_cast<std::int64_t>(value); }));
  const Word all = or_all(values);
  const auto shift = all == 0 ? 0U : static_cast<unsigned>(std::countr_zero(all));
  Word all_above = 0;
  for (const Word value : values)
    all_above |= value - low;
  const auto shift_above = all_above == 0 ? 0U : static_cast<unsigned>(std::countr_zero(all_above));
  const std::uint64_t above =
      frames_bits(values, [=](Word value) { return (value - low) >> shift_above; });
  const std::uint64_t folded = frames_bits(values, [=](Word value) { return fold(value, shift); });
  if (folded < above)
    return {{0, true}, folded};
  return {{low, false}, above};
}

Word Packer::min() const {
  return static_cast<Word>(std::ranges::min(std::span(values_).first(count_), {}, [](Word value) {
    return static_cast<std::int64_t>(value);
  }));
}

void Packer::write(PackedForm form, ByteWriter& out) {
  const auto shift = bits_used_ == 0 ? 0U : static_cast<unsigned>(std::countr_zero(bits_used_));
  auto flags = static_cast<std::uint8_t>(shift);
  if (form.zigzag)
    flags |= kZigzag;
  if (bits_used_ == 0)
    flags |= kAllZero;
  out.write(flags);
  out.varint(zigzag(static_cast<std::int64_t>(form.base)));
  if (bits_used_ == 0)
    return;
  const std::size_t frames = used_.size();
  widths_.resize(frames);
  words_.resize(std::max(words_.size(), values_.size()));
  Word* words = words_.data();
  for (std::size_t i = 0; i < frames; ++i) {
    Word* frame = &values_[i * kFrameValues];
    if (form.zigzag) {
      used_[i] = 0;
      for (std::size_t at = 0; at < kFrameValues; ++at)
        used_[i] |= frame[at] = fold(frame[at], shift);
    } else if (shift > 0) {
      used_[i] >>= shift;
      for (std::size_t at = 0; at < kFrameValues; ++at)
        frame[at] >>= shift;
    }
    widths_[i] = static_cast<std::uint8_t>(std::bit_width(used_[i]));
    kPack[widths_[i]](frame, words);
    words += widths_[i];
  }
  const std::size_t cut = frames * kFrameValues - count_; // values missing in the last frame
  const auto words_used = static_cast<std::size_t>(words - words_.data());
  out.append(std::as_bytes(std::span(widths_)));
  out.append(std::as_bytes(std::span(words_).first(words_used))
                 .first(words_used * sizeof(Word) - frame_bytes(kFrameValues, widths_.back()) +
                        frame_bytes(kFrameValues - cut, widths_.back())));
}

void Packer::write_bytes(std::span<const std::uint8_t> values, ByteWriter& out) {
  out.write(std::uint8_t{0}); // no shift
  out.varint(0);              // base
  const std::size_t frames = (values.size() + kFrameValues - 1) / kFrameValues;
  widths_.resize(frames);
  words_.resize(std::max(words_.size(), frames * (kFrameValues / sizeof(Word)) + 1));
  const auto packed = std::as_writable_bytes(std::span(words_));
  std::size_t size = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    const auto frame =
        values.subspan(i * kFrameValues, std::min(kFrameValues, values.size() - i * kFrameValues));
    std::array<Word, kFrameValues / sizeof(Word)> bytes{};
    std::memcpy(bytes.data(), frame.data(), frame.size());
    Word used = or_all(bytes);
    for (unsigned half = 32; half >= 8; half /= 2)
      used |= used >> half;
    widths_[i] = static_cast<std::uint8_t>(std::bit_width(used & 0xffU));
    if (widths_[i] > 0)
      kPackBytes[widths_[i]](bytes.data(), &packed[size]);
    size += frame_bytes(frame.size(), widths_[i]);
  }
  out.append(std::as_bytes(std::span(widths_)));
  out.append(packed.first(size));
}

void read_packed(ByteReader& in, std::span<Word> values) {
  const auto flags = in.read<std::uint8_t>();
  const unsigned shift = flags & kShiftMask;
  const auto base = static_cast<Word>(unzigzag(in.varint()));
  if ((flags & kAllZero) != 0) {
    std::ranges::fill(values, base);
    return;
  }
  read_frames(in, values);
  if ((flags & kZigzag) != 0) {
    for (Word& value : values)
      value = static_cast<Word>(unzigzag(value));
  }
  for (Word& value : values)
    value = (value << shift) + base;
}

} // namespace iotrail::store
