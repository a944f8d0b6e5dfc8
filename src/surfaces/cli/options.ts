/** The options that every command has. */
export interface BaseOptions {
  readonly home: string;
  readonly json: boolean;
}

export interface OperatorOptions extends BaseOptions {
  readonly operator?: string;
  readonly passphraseFile?: string;
}
