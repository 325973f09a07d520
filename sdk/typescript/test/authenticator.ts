// A WebAuthn authenticator in a test's memory, with the interface of navigator.credentials.
import { createHash, randomBytes } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import type { Credentials } from "@cairn-chain/sdk/signers";

/** Unusual behaviour of an authenticator or its browser. */
export interface Habits {
  flags?: number;
  /** bytes after the 37 that the chain accepts */
  extension?: Uint8Array;
  /** text after the origin in the client's data */
  members?: string;
  refuses?: boolean;
  /** whether the signature's s is the higher one; by default random */
  high?: boolean;
}

const sha256 = (data: Uint8Array): Uint8Array => createHash("sha256").update(data).digest();
const buffer = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;

export class Authenticator implements Credentials {
  readonly passkeys: { id: Uint8Array; secret: Uint8Array }[] = [];
  asked = 0;

  constructor(
    readonly origin: string,
    public habits: Habits = {},
  ) {}

  async create(options?: CredentialCreationOptions): Promise<Credential | null> {
    this.#ask();
    const { pubKeyCredParams } = options!.publicKey!;
    if (!pubKeyCredParams.some(({ alg }) => alg === -7)) throw new DOMException("no algorithm", "NotSupportedError");
    const made = { id: randomBytes(20), secret: p256.utils.randomSecretKey() };
    this.passkeys.push(made);
    const spki = Buffer.concat([Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex"), p256.getPublicKey(made.secret, false)]);
    return { rawId: buffer(made.id), response: { getPublicKey: () => buffer(spki) } } as unknown as Credential;
  }

  async get(options?: CredentialRequestOptions): Promise<Credential | null> {
    this.#ask();
    const { challenge, allowCredentials = [] } = options!.publicKey!;
    const wanted = allowCredentials.map(({ id }) => Buffer.from(id as Uint8Array));
    const { id, secret } = this.passkeys.find((key) => wanted.length === 0 || wanted.some((one) => one.equals(key.id)))!;
    const { flags = 0x05, extension = new Uint8Array(), members = ',"crossOrigin":false', high } = this.habits;
    const encoded = Buffer.from(challenge as Uint8Array).toString("base64url");
    const clientDataJSON = Buffer.from(`{"type":"webauthn.get","challenge":"${encoded}","origin":"${this.origin}"${members}}`);
    const host = Buffer.from(new URL(this.origin).hostname);
    const authenticatorData = Buffer.concat([sha256(host), Uint8Array.of(flags, 0, 0, 0, 0), extension]);
    const signature = p256.sign(Buffer.concat([authenticatorData, sha256(clientDataJSON)]), secret, { format: "der", lowS: true });
    const { r, s } = p256.Signature.fromBytes(signature, "der");
    const turned = new p256.Signature(r, p256.Point.Fn.ORDER - s);
    const given = high ?? randomBytes(1)[0]! < 128 ? turned.toBytes("der") : signature;
    return {
      rawId: buffer(id), response: { authenticatorData: buffer(authenticatorData), clientDataJSON: buffer(clientDataJSON), signature: buffer(given) },
    } as unknown as Credential;
  }

  #ask(): void {
    this.asked++;
    if (this.habits.refuses) throw new DOMException("the user said no", "NotAllowedError");
  }
}
