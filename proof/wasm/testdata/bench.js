// Verifies the bundle in the file of the first argument, repeats this as often as the second says, and prints the
// milliseconds.
import { readFile } from "node:fs/promises";
import { loadVerifier } from "./index.js";

const [, , file, times] = process.argv;
const [{ verifyProof }, bundle] = await Promise.all([loadVerifier(), readFile(file)]);
for (let i = 0; i < 5; i++) verifyProof(bundle, 128); // warms up, while code is compiled
const start = performance.now();
for (let i = 0; i < times; i++) verifyProof(bundle, 128);
console.log(performance.now() - start);
process.exit(); // ends the process, because the verifier waits for calls for ever
