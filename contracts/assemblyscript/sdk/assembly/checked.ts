import { overflow } from "./revert";
import { U128 } from "./u128";

/** a + b; reverts where the sum is none of the type. */
export function add<T extends number>(a: T, b: T): T {
  const sum = <T>(a + b);
  if (isSigned<T>() ? b < <T>0 != sum < a : sum < a) overflow();
  return sum;
}

/** a - b; reverts where the difference is none of the type. */
export function sub<T extends number>(a: T, b: T): T {
  const difference = <T>(a - b);
  if (isSigned<T>() ? b > <T>0 != difference < a : b > a) overflow();
  return difference;
}

/** a * b; reverts where the product is none of the type. */
export function mul<T extends number>(a: T, b: T): T {
  const product = <T>(a * b);
  if (a != <T>0 && b != <T>0) {
    // The quotient itself traps only where -1 divides the smallest integer.
    if (isSigned<T>() && ((a == <T>-1 && b == minimum<T>()) || (b == <T>-1 && a == minimum<T>()))) overflow();
    if (<T>(product / b) != a) overflow();
  }
  return product;
}

/** a · b / c, rounded down, whatever the product; reverts where c is 0 or the quotient is no u64. */
export function mulDiv(a: u64, b: u64, c: u64): u64 {
  return U128.product(a, b).by(U128.from(c)).toU64();
}

function minimum<T extends number>(): T {
  return <T>((<T>1) << <T>(8 * sizeof<T>() - 1));
}
