/** What an exchange came to. A token is text here for as long as it takes to put it into a Secret. */
export type TokenAnswer =
  | {
      readonly kind: "token";
      readonly token: string;
      /** A new one, where the provider replaces it with each use. */
      readonly refreshToken: string | null;
      readonly lifeMs: number;
      readonly granted: Granted;
    }
  /** The provider's own word, such as invalid_client. */
  | { readonly kind: "refused"; readonly error: string }
  /** Whoever agreed to it took that back, or the refresh token is spent: only a person can mend it. */
  | { readonly kind: "ended"; readonly error: string }
  /** Nothing that says yes or no: down, slow, a redirect, a page for people, an answer that makes no sense. */
  | {
      readonly kind: "failed";
      readonly why: string;
      /** It came with an answer that is good for nothing else. The one before may be spent. */
      readonly refreshToken?: string;
    };

/** What was asked for and not given is told; what was given and not asked for is refused. */
export interface Granted {
  readonly scopes: readonly string[];
  readonly missing: readonly string[];
  readonly beyond: readonly string[];
}

/** What a token was asked for. */
export interface Asked {
  readonly scopes: readonly string[];
  readonly repositories: readonly string[];
}
