-- A report of one's own: percentiles as CSV, in milliseconds, then what failed.

function done(summary, latency, requests)
   print("percentile,latency_ms")
   for _, percentile in ipairs({ 50, 90, 99, 99.9 }) do
      print(("%g,%.3f"):format(percentile, latency:percentile(percentile) / 1000))
   end
   local errors = summary.errors
   local lost = errors.connect + errors.read + errors.write + errors.timeout
   print(("requests,%d\nbad_statuses,%d\nlost,%d"):format(summary.requests, errors.status, lost))
end
