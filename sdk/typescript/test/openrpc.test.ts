// OpenRPC's own tools accept the node's OpenRPC document: it is valid, and its references are finite.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { startNode } from "./node.js";

interface Resolved {
  methods: { name: string; examples: unknown[]; errors: { code: number }[] }[];
}
interface Tools {
  validateOpenRPCDocument(document: unknown): true | Error;
  parseOpenRPCDocument(text: string, options: { validate: boolean; dereference: boolean }): Promise<Resolved>;
}
const tools: Tools = createRequire(import.meta.url)("@open-rpc/schema-utils-js");

test("OpenRPC's tools validate and dereference the document", async (t) => {
  const { url } = await startNode(t);
  const text = await (await fetch(`${url}/openrpc.json`)).text();
  assert.equal(tools.validateOpenRPCDocument(JSON.parse(text)), true);
  const resolved = await tools.parseOpenRPCDocument(text, { validate: true, dereference: true });
  assert.ok(resolved.methods.length > 50);
  for (const method of resolved.methods) assert.ok(method.examples.length > 0 && method.errors.length > 0, method.name);
  // Resolved parts are shared. Written out, the document is larger, but must not be endless.
  assert.ok(!JSON.stringify(resolved).includes("$ref"));
  const broken = JSON.parse(text);
  delete broken.methods[0].params;
  assert.notEqual(tools.validateOpenRPCDocument(broken), true);
});
