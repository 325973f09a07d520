// A passkey of Chromium's virtual authenticator, as a signer outside of the page.
import { createHash, createPrivateKey, sign } from "node:crypto";
import type { Hex } from "@cairn-chain/sdk";
import { PasskeySigner } from "@cairn-chain/sdk/signers";
import type { Tab } from "./chromium.js";

const sha256 = (data: Uint8Array): Buffer => createHash("sha256").update(data).digest();
const buffer = (data: Uint8Array): ArrayBuffer => Uint8Array.from(data).buffer;

/** onlyPasskey returns the only passkey of an authenticator, for pages of an origin. */
export async function onlyPasskey(tab: Tab, authenticatorId: string, origin: string): Promise<PasskeySigner> {
  const [made] = (await tab.call("WebAuthn.getCredentials", { authenticatorId }))["credentials"] as { privateKey: string }[];
  const secret = createPrivateKey({ key: Buffer.from(made!.privateKey, "base64"), format: "der", type: "pkcs8" });
  const { x, y } = secret.export({ format: "jwk" });
  const point: Hex = `0x${Buffer.concat([x!, y!].map((part) => Buffer.from(part, "base64url"))).toString("hex")}`;
  const domain = new URL(origin).hostname;
  const get = async (options?: CredentialRequestOptions): Promise<Credential> => {
    const challenge = Buffer.from(options!.publicKey!.challenge as Uint8Array).toString("base64url");
    const data = Buffer.concat([sha256(Buffer.from(domain)), Buffer.from([5, 0, 0, 0, 0])]); // user present and verified
    const client = Buffer.from(`{"type":"webauthn.get","challenge":"${challenge}","origin":"${origin}","crossOrigin":false}`);
    const signature = sign("sha256", Buffer.concat([data, sha256(client)]), secret);
    const response = { authenticatorData: buffer(data), clientDataJSON: buffer(client), signature: buffer(signature) };
    return { rawId: new ArrayBuffer(0), response } as unknown as Credential;
  };
  return new PasskeySigner({ point, verified: true, domain }, { credentials: { create: async () => null, get } });
}
