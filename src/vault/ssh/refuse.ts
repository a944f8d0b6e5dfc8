import { Denied } from "../../kernel/failure.ts";

/** The refusals of an import. None says anything about the bytes of the key. */
export function keyMalformed(): never {
  throw new Denied(
    "ssh_key_malformed",
    "That is no private key in OpenSSH or PEM form. Give the file that ssh-keygen wrote, the one without .pub.",
  );
}

export function keyMismatch(): never {
  throw new Denied(
    "ssh_key_mismatch",
    "The private and the public half in the file do not belong together: it is damaged.",
  );
}

export function keyPassphraseNeeded(): never {
  throw new Denied(
    "ssh_key_passphrase_needed",
    "The private key is encrypted: its passphrase is needed once, to import it.",
  );
}

export function keyPassphraseWrong(): never {
  throw new Denied("ssh_key_passphrase_wrong", "That passphrase does not open the private key.");
}

export function keyUnsupported(what: string): never {
  throw new Denied("ssh_key_unsupported", `${what} is not supported. Make a new key: ssh-keygen -t ed25519.`);
}
