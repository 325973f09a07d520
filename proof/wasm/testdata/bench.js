// Verifies a bundle, whose file is the first argument, as often as the second says, and prints the milliseconds that took.
import { readFile } from "node:fs/promises";
import { loadVerifier } from "./index.js";

const [, , file, times] = process.argv;
const [{ verifyProof }, bundle] = await Promise.all([loadVerifier(), readFile(file)]);
for (let i = 0; i < 5; i++) verifyProof(bundle, 128); // while code is compiled
const start = performance.now();
for (let i = 0; i < times; i++) verifyProof(bundle, 128);
console.log(performance.now() - start);
process.exit(); // the verifier waits for calls for ever
