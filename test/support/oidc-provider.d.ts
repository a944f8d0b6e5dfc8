/** As much of the package as the tests use: it brings no types of its own. */
declare module "oidc-provider" {
  import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

  interface Model {
    readonly jti: string;
    readonly jkt?: string;
    save(): Promise<string>;
    destroy(): Promise<void>;
  }
  interface ModelClass {
    new (members: Readonly<Record<string, unknown>>): Model;
    find(value: string): Promise<Model | undefined>;
  }
  interface GrantModel extends Model {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
  }

  class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): RequestListener;
    readonly Client: { find(id: string): Promise<unknown> };
    readonly Grant: {
      new (members: Readonly<Record<string, unknown>>): GrantModel;
      find(id: string): Promise<GrantModel | undefined>;
    };
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{
      readonly prompt: { readonly name: string };
      readonly params: Readonly<Record<string, string | undefined>>;
      readonly grantId?: string;
    }>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Readonly<Record<string, unknown>>,
    ): Promise<void>;
    readonly RefreshToken: ModelClass;
    readonly AccessToken: ModelClass;
    readonly ClientCredentials: ModelClass;
    on(event: string, listener: (...about: readonly unknown[]) => void): this;
  }

  export const errors: { readonly InvalidTarget: new () => Error };
  // biome-ignore lint/style/noDefaultExport: the package has one
  export { Provider as default };
}
