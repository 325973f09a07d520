import { defineConfig } from "vite";

// The built files are committed and compared, so they must not depend on the machine.
export default defineConfig({
  base: "/explorer/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../internal/server/explorer/dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  worker: { format: "es" },
});
