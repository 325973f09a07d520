//! Witnesses of messages, as specified in docs/protocol.md ("Witnesses", "Texts"), for the chain in memory. Every
//! account there keeps its initial authority.

use super::{p256, secp256k1, sha256, CHAIN_ID};

const MAX_SIGNERS: u64 = 16;
const MAX_CLIENT: u64 = 1024;
const MAX_TEXT: usize = 4096;
const MAX_DELAY: u64 = 1 << 40;

/// Reads an encoding. A read returns None if the encoding ends early or breaks a rule.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: u64) -> Option<&'a [u8]> {
        let n = usize::try_from(n).ok().filter(|n| *n <= self.0.len())?;
        let (taken, left) = self.0.split_at(n);
        self.0 = left;
        Some(taken)
    }

    fn u8(&mut self, most: u8) -> Option<u8> {
        self.take(1).map(|b| b[0]).filter(|b| *b <= most)
    }

    fn u64(&mut self, most: u64) -> Option<u64> {
        let bytes = self.take(8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?)).filter(|n| *n <= most)
    }

    fn variant(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
}

struct Rule<'a> {
    threshold: u8,
    signers: Vec<&'a [u8]>, // encoded
}

struct Proof<'a> {
    signer: u8,
    evidence: Evidence<'a>,
}

enum Evidence<'a> {
    Key(&'a [u8]),
    Text(&'a [u8], u8),
    P256(&'a [u8]),
    Passkey(&'a [u8], &'a [u8], &'a [u8]),
}

struct Policy<'a> {
    encoded: &'a [u8],
    owner: Rule<'a>,
    recovery: Option<(Rule<'a>, u64)>,
}

impl<'a> Reader<'a> {
    fn signer(&mut self) -> Option<&'a [u8]> {
        let start = self.0;
        match self.variant()? {
            0 => self.take(32).map(|_| ())?,
            1 => self.take(64).map(|_| ())?,
            2 => {
                self.take(64)?;
                self.u8(1)?;
            }
            _ => return None,
        }
        Some(&start[..start.len() - self.0.len()])
    }

    fn rule(&mut self) -> Option<Rule<'a>> {
        let threshold = self.u8(u8::MAX)?;
        let n = self.u64(MAX_SIGNERS)?;
        let signers = (0..n).map(|_| self.signer()).collect::<Option<Vec<_>>>()?;
        Some(Rule { threshold, signers })
    }

    fn policy(&mut self) -> Option<Policy<'a>> {
        let start = self.0;
        self.u64(u64::MAX)?;
        let owner = self.rule()?;
        let recovery = match self.u8(1)? {
            0 => None,
            _ => Some((self.rule()?, self.u64(u64::MAX)?)),
        };
        Some(Policy { encoded: &start[..start.len() - self.0.len()], owner, recovery })
    }

    fn evidence(&mut self) -> Option<Evidence<'a>> {
        Some(match self.variant()? {
            0 => Evidence::Key(self.take(64)?),
            1 => Evidence::Text(self.take(64)?, self.u8(1)?),
            2 => Evidence::P256(self.take(64)?),
            3 => {
                let authenticator = self.take(37)?;
                let n = self.u64(MAX_CLIENT)?;
                Evidence::Passkey(authenticator, self.take(n)?, self.take(64)?)
            }
            _ => return None,
        })
    }

    fn proofs(&mut self) -> Option<Vec<Proof<'a>>> {
        let n = self.u64(MAX_SIGNERS)?;
        (0..n).map(|_| Some(Proof { signer: self.u8(u8::MAX)?, evidence: self.evidence()? })).collect()
    }
}

impl Rule<'_> {
    fn valid(&self) -> bool {
        let n = self.signers.len();
        (1..=n).contains(&(self.threshold as usize)) && self.signers.windows(2).all(|pair| pair[0] < pair[1])
    }
}

impl Policy<'_> {
    fn valid(&self) -> bool {
        self.owner.valid()
            && self.recovery.as_ref().map_or(true, |(rule, delay)| rule.valid() && (1..=MAX_DELAY).contains(delay))
    }
}

/// A message to a contract: the 32 bytes to be signed, and the equivalent text.
struct Statement {
    hash: [u8; 32],
    text: String,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{:02x}", b)).collect()
}

impl Statement {
    fn new(contract: &[u8; 32], account: &[u8; 32], message: &[u8]) -> Self {
        let all = [&CHAIN_ID.to_le_bytes()[..], contract, account, message].concat();
        let hash = sha256::tagged("cairn/message/v2", &all);
        let shown = match message {
            [] => "none".to_string(),
            _ if message.len() <= 1024 && message.iter().all(|b| (0x20..0x7f).contains(b)) => {
                String::from_utf8_lossy(message).into_owned()
            }
            _ => format!("{} bytes, SHA-256 {}", message.len(), hex(&sha256::sum(message))),
        };
        let text = format!(
            "Cairn message on regtest, chain {}\ncontract: 0x{}\naccount: {}\nmessage: {}\nid: {}",
            CHAIN_ID, hex(contract), address(account), shown, hex(&hash)
        );
        Statement { hash, text }
    }

    fn holds(&self, signer: &[u8], evidence: &Evidence) -> bool {
        let (kind, key) = (signer[0], &signer[4..]);
        match (kind, evidence) {
            (0, Evidence::Key(signature)) => secp256k1::schnorr_verify(key, &self.hash, signature),
            (0, Evidence::Text(signature, sighash)) => self.text_holds(key, signature, *sighash),
            (1, Evidence::P256(signature)) => p256::verify(key, &sha256::sum(&self.hash), signature, true),
            (2, Evidence::Passkey(authenticator, client, signature)) => {
                let (point, verified) = (&key[..64], key[64] == 1);
                let flags = authenticator[32];
                let need = if verified { 0b101 } else { 0b001 };
                client.starts_with(b"\",\"origin\":\"")
                    && flags & need == need
                    && flags & 0b1100_0000 == 0
                    && p256::verify(point, &self.passkey_digest(authenticator, client), signature, true)
            }
            _ => false,
        }
    }

    fn passkey_digest(&self, authenticator: &[u8], client: &[u8]) -> [u8; 32] {
        let begin = b"{\"type\":\"webauthn.get\",\"challenge\":\"";
        let data = [&begin[..], base64url(&self.hash).as_bytes(), client].concat();
        sha256::sum(&[authenticator, &sha256::sum(&data)].concat())
    }

    /// BIP-322 in its simple form, for a taproot address that is spent by a key.
    fn text_holds(&self, key: &[u8], signature: &[u8], sighash: u8) -> bool {
        if self.text.len() > MAX_TEXT {
            return false;
        }
        let spk = [&[0x51, 0x20], key].concat();
        let message = sha256::tagged("BIP0322-signed-message", self.text.as_bytes());
        let to_spend = [
            &[0; 4][..], &[1], &[0; 32], &[0xff; 4], &[0x22, 0x00, 0x20], &message, &[0; 4], &[1], &[0; 8], &[0x22], &spk,
            &[0; 4],
        ]
        .concat();
        let prevout = [&sha256::sum(&sha256::sum(&to_spend))[..], &[0; 4]].concat();
        let signed = [
            &[0, sighash][..], &[0; 4], &[0; 4], &sha256::sum(&prevout), &sha256::sum(&[0; 8]),
            &sha256::sum(&[&[0x22], &spk[..]].concat()), &sha256::sum(&[0; 4]),
            &sha256::sum(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0x6a]), &[0], &[0; 4],
        ]
        .concat();
        secp256k1::schnorr_verify(key, &sha256::tagged("TapSighash", &signed), signature)
    }
}

/// Whether an encoded witness of a message to a contract holds for an account.
pub(super) fn holds(account: &[u8; 32], contract: &[u8; 32], message: &[u8], encoded: &[u8]) -> bool {
    verdict(account, contract, message, encoded).unwrap_or(false)
}

fn verdict(account: &[u8; 32], contract: &[u8; 32], message: &[u8], encoded: &[u8]) -> Option<bool> {
    let mut reader = Reader(encoded);
    let statement = Statement::new(contract, account, message);
    let own = [&[0; 4][..], account].concat(); // as an encoded signer
    let kind = reader.variant()?;
    if kind < 2 {
        let signature = reader.take(64)?;
        let evidence = match kind {
            0 => Evidence::Key(signature),
            _ => Evidence::Text(signature, reader.u8(1)?),
        };
        return Some(reader.0.is_empty() && statement.holds(&own, &evidence));
    }
    if kind > 2 {
        return None;
    }
    let (policy, proofs) = (reader.policy()?, reader.proofs()?);
    if !reader.0.is_empty() || !policy.valid() || sha256::tagged("cairn/policy/v2", policy.encoded) != *account {
        return Some(false);
    }
    let ascending = proofs.windows(2).all(|pair| pair[0].signer < pair[1].signer);
    let hold = proofs.iter().all(|p| {
        policy.owner.signers.get(p.signer as usize).map_or(false, |s| statement.holds(s, &p.evidence))
    });
    Some(proofs.len() == policy.owner.threshold as usize && ascending && hold)
}

/// The encoded witness of a key for a message to a contract.
pub(super) fn sign(key: &secp256k1::Key, contract: &[u8; 32], message: &[u8]) -> Vec<u8> {
    let statement = Statement::new(contract, &key.public, message);
    [&[0; 4][..], &key.sign(&statement.hash)].concat()
}

fn base64url(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let groups = bytes.chunks(3).flat_map(|three| {
        let word = three.iter().chain(&[0; 2]).take(3).fold(0, |word, b| word << 8 | *b as usize);
        (0..=three.len()).map(move |i| digits[word >> (18 - 6 * i) & 63] as char)
    });
    groups.collect()
}

/// BIP-350: the address on regtest.
fn address(account: &[u8; 32]) -> String {
    const DIGITS: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let prefix = b"bcrt";
    let mut words = vec![1u8];
    let (mut bits, mut count) = (0u32, 0);
    for b in account {
        bits = bits << 8 | *b as u32;
        count += 8;
        while count >= 5 {
            count -= 5;
            words.push((bits >> count & 31) as u8)
        }
    }
    words.push((bits << (5 - count) & 31) as u8);
    let mut check: u32 = 1;
    let mut step = |word: u8| {
        let top = check >> 25;
        check = (check & 0x1ffffff) << 5 ^ word as u32;
        for (i, g) in [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].iter().enumerate() {
            if top >> i & 1 == 1 {
                check ^= g
            }
        }
    };
    prefix.iter().for_each(|b| step(b >> 5));
    step(0);
    prefix.iter().for_each(|b| step(b & 31));
    words.iter().for_each(|w| step(*w));
    (0..6).for_each(|_| step(0));
    let check = check ^ 0x2bc830a3;
    words.extend((0..6).map(|i| (check >> (5 * (5 - i)) & 31) as u8));
    let data: String = words.iter().map(|w| DIGITS[*w as usize] as char).collect();
    format!("bcrt1{}", data)
}
