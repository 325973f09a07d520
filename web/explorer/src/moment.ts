// A block or a time in the form that people type.

/** Moment is a block's height, or the last second of a time, in Unix seconds. */
export type Moment = { height: number } | { until: number };

/**
 * readMoment reads a height, or a date with or without a time of day in UTC, such as 2026-11-28 14:30; undefined for
 * anything else.
 */
export function readMoment(text: string): Moment | undefined {
  const typed = text.trim().replace(/\s*UTC$/i, "");
  if (/^[\d,]{1,21}$/.test(typed)) {
    const height = Number(typed.replace(/,/g, ""));
    return Number.isSafeInteger(height) ? { height } : undefined;
  }
  const parts = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d)?)?$/.exec(typed);
  if (!parts) return undefined;
  const [, day, minute, second] = parts;
  const from = Date.parse(`${day}T${minute ?? "00:00"}${second ?? ":00"}Z`) / 1000;
  if (Number.isNaN(from) || !new Date(from * 1000).toISOString().startsWith(day!)) return undefined; // as of 30 February
  return { until: from + (second ? 0 : minute ? 59 : 86_399) };
}
