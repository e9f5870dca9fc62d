// No plugins that load anything from elsewhere; a token is kept in this window alone.
SwaggerUIBundle({ url: "/openapi.json", dom_id: "#description", deepLinking: true, validatorUrl: null, persistAuthorization: false });
