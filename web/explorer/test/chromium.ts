// Drives a headless Chromium over the DevTools protocol on pipes, without a library.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

type Json = Record<string, any>;

export class Browser {
  readonly #send: Writable;
  readonly #waiting = new Map<number, { resolve(result: Json): void; reject(error: Error): void }>();
  readonly #listeners: ((message: Json) => void)[] = [];
  #id = 0;
  #rest = "";

  private constructor(
    readonly profile: string,
    readonly close: () => Promise<void>,
    /** kill ends it at once; its data on disk stays */
    readonly kill: () => Promise<void>,
    to: Writable,
    from: Readable,
  ) {
    this.#send = to;
    from.setEncoding("utf8").on("data", (text: string) => {
      const parts = (this.#rest + text).split("\0");
      this.#rest = parts.pop()!;
      for (const part of parts) this.#take(JSON.parse(part) as Json);
    });
  }

  /** start starts a new one, or a killed one again on its profile. */
  static start(profile = mkdtempSync(join(tmpdir(), "cairn-explorer-"))): Browser {
    const flags = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--hide-scrollbars",
      "--force-color-profile=srgb",
    ];
    const process = spawn(
      "chromium",
      [...flags, "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"],
      {
        stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      },
    );
    const ended = new Promise<void>((resolve) => process.once("exit", () => resolve()));
    const close = async (): Promise<void> => {
      await browser.call("Browser.close"); // its child processes end with it
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    };
    const kill = async (): Promise<void> => {
      process.kill("SIGKILL");
      await ended;
    };
    const browser: Browser = new Browser(
      profile,
      close,
      kill,
      process.stdio[3] as Writable,
      process.stdio[4] as unknown as Readable,
    );
    return browser;
  }

  #take(message: Json): void {
    const waiting = this.#waiting.get(message["id"]);
    if (!waiting) return this.#listeners.forEach((listener) => listener(message));
    this.#waiting.delete(message["id"]);
    if (message["error"]) waiting.reject(new Error(JSON.stringify(message["error"])));
    else waiting.resolve(message["result"]);
  }

  call(method: string, params: Json = {}, sessionId?: string): Promise<Json> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#id, { resolve, reject });
      this.#send.write(JSON.stringify({ id: this.#id, method, params, ...(sessionId && { sessionId }) }) + "\0");
    });
  }

  on(listener: (message: Json) => void): void {
    this.#listeners.push(listener);
  }

  async open(): Promise<Tab> {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const tab = new Tab(this, sessionId, targetId);
    await Promise.all(
      ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"].map((method) => tab.call(method)),
    );
    return tab;
  }
}

export class Tab {
  /** complaints of the console and the content policy, and the hosts of the page's requests */
  readonly complaints: string[] = [];
  readonly asked = new Set<string>();
  /** received bytes of HTTP bodies and WebSocket messages */
  received = 0;

  constructor(
    readonly browser: Browser,
    readonly session: string,
    readonly target: string,
  ) {
    browser.on(({ method, params, sessionId }) => {
      if (sessionId !== session) return;
      if (method === "Runtime.exceptionThrown")
        this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Log.entryAdded" && params.entry.level === "error")
        this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
      if (method === "Fetch.requestPaused") void this.#answer(params);
      if (method === "Network.requestWillBeSent") this.asked.add(params.request.url);
      if (method === "Network.webSocketCreated") this.asked.add(params.url);
      if (method === "Network.dataReceived") this.received += params.encodedDataLength || params.dataLength;
      if (method === "Network.webSocketFrameReceived") this.received += params.response.payloadData.length;
    });
  }

  /** answers the page's POSTs in the node's place; undefined lets the node answer, null gives no answer */
  #stand: ((body: string) => Promise<{ status: number; body: string } | undefined | null>) | undefined;

  /** standIn answers the page's POSTs instead of the node, until it is called without an argument. */
  async standIn(answer?: (body: string) => Promise<{ status: number; body: string } | undefined | null>): Promise<void> {
    this.#stand = answer;
    await (answer ? this.call("Fetch.enable") : this.call("Fetch.disable"));
  }

  async #answer({ requestId, request }: Json): Promise<void> {
    const given = request.method === "POST" ? await this.#stand?.(request.postData) : undefined;
    if (given === null) return;
    if (!given) return void this.call("Fetch.continueRequest", { requestId }).catch(() => undefined); // it may be disabled by now
    const body = Buffer.from(given.body).toString("base64");
    const responseHeaders = [{ name: "Content-Type", value: "application/json" }];
    await this.call("Fetch.fulfillRequest", { requestId, responseCode: given.status, responseHeaders, body }).catch(() => undefined);
  }

  call(method: string, params: Json = {}): Promise<Json> {
    return this.browser.call(method, params, this.session);
  }

  /** look sets the page's width and its dark or light theme. */
  async look(width: number, height: number, dark = false): Promise<void> {
    await this.call("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 700,
    });
    await this.call("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }],
    });
  }

  async go(url: string): Promise<void> {
    await this.call("Page.navigate", { url });
  }

  /** run evaluates an expression in the page, and waits for its promise. */
  async run<T = unknown>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  }

  /**
   * until waits until an expression is true, checking at each frame. After a timeout in milliseconds it rejects with
   * the page's content.
   */
  async until(expression: string, most = 20_000): Promise<void> {
    for (const end = Date.now() + most; ;) {
      const held = await this.run<boolean>(`!!(${expression})`).catch(() => false); // the page may just be changing
      if (held) return;
      if (Date.now() > end)
        throw new Error(
          `never: ${expression}\n${await this.run<string>("document.body.innerText.slice(0, 3000)")}\n${this.complaints.join("\n")}`,
        );
      await this.run("new Promise((r) => setTimeout(r, 30))").catch(() => undefined);
    }
  }

  /** authenticator adds an authenticator to the page whose user always agrees, and returns its ID. */
  async authenticator(): Promise<string> {
    await this.call("WebAuthn.enable");
    const options = {
      protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true,
    };
    return (await this.call("WebAuthn.addVirtualAuthenticator", { options }))["authenticatorId"] as string;
  }

  /** crash kills the page's process, like a lack of memory. */
  async crash(): Promise<void> {
    const gone = new Promise<void>((resolve) =>
      this.browser.on(({ method, sessionId }) => method === "Inspector.targetCrashed" && sessionId === this.session && resolve()),
    );
    await this.call("Inspector.enable");
    void this.call("Page.crash").catch(() => undefined); // nobody is left to answer
    await gone;
  }

  text(): Promise<string> {
    return this.run<string>("document.body.innerText");
  }

  /** type presses keys one by one; "Enter" and "Escape" by their names. */
  async type(...keys: string[]): Promise<void> {
    for (const key of keys) {
      const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
      await this.call("Input.dispatchKeyEvent", {
        type: "keyDown",
        key,
        ...(text && { text }),
        ...(key === "Enter" && { windowsVirtualKeyCode: 13 }),
      });
      await this.call("Input.dispatchKeyEvent", { type: "keyUp", key });
    }
  }

  async picture(path: string): Promise<void> {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
}
