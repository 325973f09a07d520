//! In native tests, hashes and signature checks give a node's results (contracts/rust/host_test.go writes the lines).

use cairn::{account_verify, blake3, ecdsa_recover, keccak256, p256_verify, schnorr_verify, sha256, Account, Hash};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{:02x}", b)).collect()
}

fn array<const N: usize>(hex: &str) -> &'static [u8; N] {
    let array: [u8; N] = bytes(hex).try_into().expect("as many bytes");
    Box::leak(Box::new(array))
}

fn result(words: &[&str]) -> String {
    match words[0] {
        "schnorr_verify" => {
            (schnorr_verify(array(words[1]), &bytes(words[2]), array(words[3])) as u8).to_string()
        }
        "p256_verify" => {
            (p256_verify(array(words[1]), &Hash(array(words[2])), array(words[3])) as u8).to_string()
        }
        "account_verify" => {
            let (message, witness) = (words[2].trim_end_matches('.'), words[3].trim_end_matches('.'));
            (account_verify(&Account(array(words[1])), &bytes(message), &bytes(witness)) as u8).to_string()
        }
        "ecdsa_recover" => {
            ecdsa_recover(&Hash(array(words[1])), array(words[2])).map_or("-".to_string(), |key| hex(key))
        }
        name => {
            let n: usize = words[1].parse().expect("a length");
            let data: Vec<u8> = (0..n).map(|i| (i % 251) as u8).collect();
            let sum = match name {
                "sha256" => sha256(&data),
                "keccak256" => keccak256(&data),
                "blake3" => blake3(&data),
                _ => panic!("no such function: {}", name),
            };
            hex(sum.0)
        }
    }
}

#[test]
fn as_on_a_node() {
    let lines: Vec<&str> = include_str!("../../../testdata/host.txt").lines().collect();
    assert!(lines.len() > 100, "got {} lines, want over 100", lines.len());
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let (want, words) = words.split_last().expect("a result");
        assert_eq!(&result(words), want, "{}", line)
    }
}
