/** As much of the package as the tests use: it brings no types of its own. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  interface Model {
    readonly jti: string;
    save(): Promise<string>;
    destroy(): Promise<void>;
  }
  interface ModelClass {
    new (members: Readonly<Record<string, unknown>>): Model;
    find(value: string): Promise<Model | undefined>;
  }
  interface GrantModel extends Model {
    addOIDCScope(scope: string): void;
  }

  class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): RequestListener;
    readonly Client: { find(id: string): Promise<unknown> };
    readonly Grant: new (
      members: Readonly<Record<string, unknown>>,
    ) => GrantModel;
    readonly RefreshToken: ModelClass;
    readonly AccessToken: ModelClass;
    readonly ClientCredentials: ModelClass;
    on(event: string, listener: (...about: readonly unknown[]) => void): this;
  }

  // biome-ignore lint/style/noDefaultExport: the package has one
  export { Provider as default };
}
