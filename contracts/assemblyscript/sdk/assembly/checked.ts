import { overflow } from "./revert";
import { U128 } from "./u128";

/** a + b; reverts if the sum does not fit the type. */
export function add<T extends number>(a: T, b: T): T {
  const sum = <T>(a + b);
  if (isSigned<T>() ? b < <T>0 != sum < a : sum < a) overflow();
  return sum;
}

/** a - b; reverts if the difference does not fit the type. */
export function sub<T extends number>(a: T, b: T): T {
  const difference = <T>(a - b);
  if (isSigned<T>() ? b > <T>0 != difference < a : b > a) overflow();
  return difference;
}

/** a * b; reverts if the product does not fit the type. */
export function mul<T extends number>(a: T, b: T): T {
  const product = <T>(a * b);
  if (a != <T>0 && b != <T>0) {
    // The quotient itself traps only if -1 divides the smallest integer.
    if (isSigned<T>() && ((a == <T>-1 && b == minimum<T>()) || (b == <T>-1 && a == minimum<T>()))) overflow();
    if (<T>(product / b) != a) overflow();
  }
  return product;
}

/** a · b / c, rounded down, for any size of the product. Reverts if c is 0 or the quotient does not fit a u64. */
export function mulDiv(a: u64, b: u64, c: u64): u64 {
  return U128.product(a, b).by(U128.from(c)).toU64();
}

function minimum<T extends number>(): T {
  return <T>((<T>1) << <T>(8 * sizeof<T>() - 1));
}
