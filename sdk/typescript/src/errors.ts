/** CairnError is what every error of this package extends that a caller may want to tell apart. */
export class CairnError extends Error {
  override name = "CairnError";
}
