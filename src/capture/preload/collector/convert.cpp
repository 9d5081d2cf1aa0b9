// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/convert.hpp"

#include <cstring>

#include "capture/preload/collector/call_table.hpp"
#include "capture/preload/shared/record_layout.hpp"

namespace iotrail::capture::preload {

namespace {

struct Resolver {
  ArenaIds& ids;
  PendingPaths& paths;
  iot_u32 files = 0; // in the record
  iot_u32 pseudo = 0;

  // Replaces the field's value in the record by its value in the trace.
  template <schema::Meaning kMeaning> void resolve(unsigned char* field) {
    if constexpr (kMeaning == schema::Meaning::file || kMeaning == schema::Meaning::path) {
      iot_u32 id = 0;
      std::memcpy(&id, field, sizeof(id));
      if (kMeaning == schema::Meaning::file && id != 0) {
        ++files;
        pseudo += ids.is_pseudo(id);
      }
      id = kMeaning == schema::Meaning::file ? ids.file(id) : ids.path(id, paths);
      std::memcpy(field, &id, sizeof(id));
    }
  }
};

template <iot_u16 kKind> void unpack(unsigned char* e, const RawRecord& raw, Resolver& resolver) {
  [&]<std::size_t... kField>(std::index_sequence<kField...>) {
    ((std::memcpy(e + kCarried<kKind>[kField].in_event,
                  raw.fields + kCarried<kKind>[kField].in_record, kCarried<kKind>[kField].size),
      resolver.resolve<kCarried<kKind>[kField].meaning>(e + kCarried<kKind>[kField].in_event)),
     ...);
  }(std::make_index_sequence<kCarried<kKind>.size()>());
  if constexpr (kErrorOffset<kKind> != 0) {
    const iot_s64 error = raw.error;
    std::memcpy(e + kErrorOffset<kKind>, &error, sizeof(error));
  }
}

} // namespace

bool convert(const RawRecord& raw, const Origin& origin, const TickClock& clock, ArenaIds& ids,
             PendingPaths& paths, DeferredFilter& deferred_filter, store::TraceWriter& writer) {
  const iot_u64 begin_ns = clock.to_ns(raw.begin);
  const iot_u64 end_ns = clock.to_ns(raw.end);
  Resolver resolver{ids, paths};
  const auto append = [&]<iot_u16 kKind, class Event>(Event e) {
    e.event.ts_ns = begin_ns;
    e.event.op_id = (IOT_OP_PRELOAD | origin.place) << IOT_OP_MAKER_SHIFT | origin.position;
    e.event.pid = origin.pid;
    e.event.tid = origin.tid;
    e.event.cpu = IOT_CPU_UNKNOWN;
    e.event.kind = kKind;
    e.duration_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
    e.call = raw.call;
    unpack<kKind>(reinterpret_cast<unsigned char*>(&e), raw, resolver);
    if (resolver.pseudo != 0 && resolver.pseudo == resolver.files)
      ids.leave_out();
    else
      deferred_filter.take(e.event, writer);
  };
  switch (kind_of_call(raw.call)) {
    // clang-format off
#define FIELD(type, name, meaning, doc, ...)
#define EVENT(id, name, layer, doc) case id: append.template operator()<id>(iot_##name{}); return true;
#define END(name)
#include "app.def"
#undef EVENT
#undef FIELD
#undef END
  // clang-format on
  default:
    return false;
  }
}

} // namespace iotrail::capture::preload
